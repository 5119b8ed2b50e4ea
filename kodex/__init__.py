"""Dexterous manipulation skills from demonstrations, with Koopman operators, in closed form."""

__version__ = "0.1.0"
