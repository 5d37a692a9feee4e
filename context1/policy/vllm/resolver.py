"""Names to addresses, also while the name server does not answer."""

from __future__ import annotations

import socket
from typing import Any

from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver


class PatientResolver(ThreadedResolver):
    """Asks anew for each name, and takes the last answer where there is none for now.

    A name server on a busy node drops questions, while the address behind a Kubernetes Service stays.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[Any, ...], list[ResolveResult]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises `OSError` for a name that does not exist, or that was never resolved."""
        key = (host, port, family)
        try:
            self._known[key] = await super().resolve(host, port, family)
        except socket.gaierror as error:
            if error.errno != socket.EAI_AGAIN or key not in self._known:
                raise
        return self._known[key]
