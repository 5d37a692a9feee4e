"""Errors that a user can cause and mend."""


class InputError(Exception):
    """Says what is wrong, where (file:line, field or option), and how to mend it.

    The command line prints the message without a traceback and exits with status 2.
    """
