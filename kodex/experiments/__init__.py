"""Whole studies: they run the line from end to end and write results files."""
