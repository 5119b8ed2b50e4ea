"""What a run looked like, for people: plots, a video, and one page with all of it."""
