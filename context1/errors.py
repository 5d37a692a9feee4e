"""Errors that cross rooms."""


class InputError(Exception):
    """Says what is wrong, where (file:line, field or option), and how to mend it.

    The command line prints the message without a traceback and exits with status 2.
    """


class StorageUnavailable(Exception):
    """The store of artifacts cannot be reached, past the client's own retries."""


class ClusterUnavailable(Exception):
    """Kubernetes does not answer, for longer than we wait."""


class WorkerFailed(RuntimeError):
    """A process that did part of a stage's work died; the message says which, how, and its last lines."""
