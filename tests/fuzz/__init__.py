"""Fuzzing: whole files of every format, changed by the thousand, and what kodex makes of them."""
