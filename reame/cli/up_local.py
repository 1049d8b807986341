"""``reame up --no-ray``: one engine under uvicorn, in this process's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import uvicorn
import uvloop

from reame.api import Backend, api_options, create_app
from reame.config import Settings
from reame.engine.client import EngineClient
from reame.engine.options import EngineOptions
from reame.logs import setup_logging
from reame.prompt import PromptEncoder

DRAIN_TIMEOUT_S = 120
"""How long running requests may go on after the signal to stop; then they end with an error."""
_LAST_WORDS_S = 5


class _Server(uvicorn.Server):
    """uvicorn, with the signals left to :func:`serve`: its own would end the process before the engine."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that requests are served as soon as they are."""
        await super().startup(sockets)
        if self.started:
            print(self.greeting, file=sys.stderr, flush=True)

    greeting = ""


def serve(
    settings: Settings, options: EngineOptions, model: Path, host: str, port: int, greeting: str
) -> None:
    """Serve until SIGINT or SIGTERM, then drain; a second signal ends at once."""
    setup_logging(settings.logging.level, settings.logging.format)
    encoder = PromptEncoder.from_gguf(model, settings.model.chat_template)
    client = EngineClient(options)
    app = create_app(Backend(client, encoder), api_options(settings, model))
    server = _Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            loop="uvloop",
            http="httptools",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=DRAIN_TIMEOUT_S + _LAST_WORDS_S,
        )
    )
    server.greeting = greeting
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(client, server))


async def _run(client: EngineClient, server: uvicorn.Server) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    draining = asyncio.create_task(_drain(client, stop))
    try:
        if await _start(client, stop):
            await server.serve()
    finally:
        draining.cancel()
        await client.close()


async def _drain(client: EngineClient, stop: asyncio.Event) -> None:
    """After the signal: let requests end, then end the engine, which ends those that did not."""
    await stop.wait()
    if await client.drain(DRAIN_TIMEOUT_S):
        await client.close()


async def _start(client: EngineClient, stop: asyncio.Event) -> bool:
    """Start the engine; False when a signal came first."""
    starting = asyncio.create_task(client.start())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if starting.done():
        starting.result()
        return not stop.is_set()
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    return False
