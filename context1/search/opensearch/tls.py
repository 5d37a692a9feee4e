"""TLS to the cluster: a private authority, a client certificate, and both read again when they change."""

from __future__ import annotations

import ssl
from pathlib import Path

from context1.errors import InputError
from context1.settings import OpenSearchSettings


class Tls:
    """A context that verifies chain and host name. `refresh` keeps it up to date with its files."""

    def __init__(self, settings: OpenSearchSettings) -> None:
        """Raises `InputError` naming the setting whose file is no good."""
        self._settings = settings
        self.context = _context(settings)
        self._seen = self._state()

    def refresh(self) -> None:
        """Takes changed files for connections to come. Files that do not fit, half-written ones, wait."""
        state = self._state()
        if state == self._seen:
            return
        try:
            _context(self._settings)  # first aside: a failed load would spoil the context in use
            _load(self.context, self._settings)
        except (InputError, OSError):
            return
        self._seen = state

    def _state(self) -> list[tuple[int, int, int]]:
        settings = self._settings
        names = filter(None, (settings.ca_bundle, settings.client_cert, settings.client_key))
        found = [path.stat() for path in map(Path, names) if path.exists()]
        return [(stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in found]


def _context(settings: OpenSearchSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_bundle or None)
    except OSError as error:
        raise InputError(f"opensearch.ca_bundle {settings.ca_bundle}: {_reason(error)}") from None
    try:
        _load(context, settings)
    except OSError as error:
        files = " and ".join(filter(None, (settings.client_cert, settings.client_key)))
        raise InputError(
            f"opensearch.client_cert, opensearch.client_key: {files}: {_reason(error)}"
        ) from None
    return context


def _load(context: ssl.SSLContext, settings: OpenSearchSettings) -> None:
    if settings.ca_bundle:
        context.load_verify_locations(cafile=settings.ca_bundle)
    if settings.client_cert:
        # Without a password: asking for one on the terminal would hang a server.
        context.load_cert_chain(settings.client_cert, settings.client_key or None, password="")


def _reason(error: OSError) -> str:
    return f"not usable: {error.strerror or error}; a PEM file is needed"
