"""Fault injection: commands that are killed, interrupted and refused by the disk, everywhere."""
