"""The two ways in which kodex says no: to what it was given, and for what is not installed."""


class InputError(ValueError):
    """What was given cannot be used.

    The message is one sentence that says what was expected, what was found and what to do;
    the command line prints it and exits without a traceback.
    """


class MissingFeatureError(RuntimeError):
    """A feature needs something that is not installed; the message says how to get it."""
