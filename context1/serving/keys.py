"""Who may ask: keys from the settings and from a file, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr

from context1.errors import InputError


class Keys:
    """Holds digests only. The file is read again when it changes; one that vanished keeps the old."""

    def __init__(self, keys: Sequence[SecretStr], file: str) -> None:
        self._fixed = [_digest(key.get_secret_value()) for key in keys if key.get_secret_value()]
        self._file = Path(file) if file else None
        self._seen: tuple[int, int] | None = None
        self._read: list[bytes] = []
        if self._file is not None:
            self._refresh()
            if not self._read:
                raise InputError(f"serve.keys_file {file}: cannot be read, or holds no key; one a line")

    @property
    def required(self) -> bool:
        """Whether a client has to show a key."""
        return bool(self._fixed or self._read)

    def known(self, key: str) -> str:
        """A name for the key's owner (never the key itself), or empty if the key is unknown."""
        self._refresh()
        shown = _digest(key)
        # All are compared, whichever matches: the time tells nothing about where, or whether.
        matches = [hmac.compare_digest(shown, digest) for digest in (*self._fixed, *self._read)]
        return shown.hex()[:12] if any(matches) else ""

    def _refresh(self) -> None:
        if self._file is None:
            return
        try:
            stat = self._file.stat()
            seen = (stat.st_mtime_ns, stat.st_ino)
            if seen != self._seen:
                lines = self._file.read_text(encoding="utf-8").splitlines()
                keys = [_digest(line.strip()) for line in lines if line.strip()]
                self._read, self._seen = keys or self._read, seen
        except (OSError, UnicodeDecodeError):
            return


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
