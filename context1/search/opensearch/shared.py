"""One client, and so one pool of connections, for all backends of this process on the same cluster."""

from __future__ import annotations

import atexit

from context1.search.opensearch.client import Client
from context1.settings import OpenSearchSettings

_clients: list[Client] = []


def connect(settings: OpenSearchSettings) -> Client:
    """The process's client for these settings; whoever asked calls `disconnect` at the end."""
    client = next((one for one in _clients if one.settings == settings), None)
    if client is None:
        client = Client(settings)
        _clients.append(client)
    client.users += 1
    return client


def disconnect(client: Client) -> None:
    """Closes the client when nobody else uses it."""
    client.users -= 1
    if client.users <= 0 and client in _clients:
        _clients.remove(client)
        client.close()


@atexit.register
def _close_all() -> None:
    while _clients:
        _clients.pop().close()
