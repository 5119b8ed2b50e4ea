"""Known weaknesses of what is pinned."""
