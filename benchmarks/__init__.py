"""Speed, printed as ratios that are measured in one run: `make bench`."""
