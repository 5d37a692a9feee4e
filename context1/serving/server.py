"""Runs the application until SIGTERM or Ctrl-C, and lets searches end before it does."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from context1.errors import InputError
from context1.serving.app import make_app
from context1.serving.door import LOOPBACK
from context1.serving.keys import Keys
from context1.serving.service import Service

log = logging.getLogger(__name__)

CLOSING = 5
"""Seconds that connections have to take their last bytes, after all searches have ended."""


class Server(uvicorn.Server):
    """Leaves signals to `serve`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def check_open(host: str, keys: Keys, open_: bool) -> None:
    """Raises `InputError` where other machines could search without a key, unless that is wanted."""
    if host not in (*LOOPBACK, "::1") and not keys.required and not open_:
        raise InputError(
            f"serve.host {host} is reachable from other machines: set CONTEXT1_SERVE__KEYS or "
            "serve.keys_file, or serve.open=true if whoever can reach it may search"
        )


async def serve(service: Service, on_start: Callable[[str], None]) -> None:
    """Serves until a signal; `on_start` gets the address. A second signal cuts running searches short."""
    settings = service.settings
    config = uvicorn.Config(
        make_app(service),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSING,
        timeout_keep_alive=30,
        http="h11",  # the other one bounds no header
        h11_max_incomplete_event_size=32_768,
        backlog=4_096,
        lifespan="on",
    )
    # What is open stays open: a full collection would go over all of it, and stop every search for .1 s.
    gc.collect()
    gc.freeze()
    server = Server(config)
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def stop() -> None:
        if asked.is_set():
            server.should_exit = True
        asked.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    async with service:
        running = asyncio.create_task(server.serve())
        while not server.started and not running.done():
            await asyncio.sleep(0.02)
        if not running.done():
            port = server.servers[0].sockets[0].getsockname()[1]
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            on_start(f"http://{host}:{port}")
        draining = asyncio.create_task(_drain(service, server, asked))
        try:
            await running
        finally:
            draining.cancel()


async def _drain(service: Service, server: Server, asked: asyncio.Event) -> None:
    await asked.wait()
    await service.drain()
    server.should_exit = True
