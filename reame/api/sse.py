"""A server-sent event stream over ASGI ``send``, with pings while nothing else is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from starlette.types import Send

PING = b": ping\n\n"

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """One response. ``started`` says whether a status line is out."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self._clock = asyncio.get_running_loop().time
        self._written_s = self._clock()
        self.started = False

    async def start(self, data: bytes) -> None:
        """Send status, headers and the first events; ``data`` may be empty, the headers leave at once."""
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await self._write(data, more=True)

    async def write(self, data: bytes) -> None:
        """Send whole events; waits while the client reads slowly."""
        async with self._lock:
            await self._write(data, more=True)

    async def end(self, data: bytes) -> None:
        """Send the last events and end the response."""
        async with self._lock:
            await self._write(data, more=False)

    async def _write(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
        self._written_s = self._clock()

    @asynccontextmanager
    async def pings(self, every_s: float | None) -> AsyncGenerator[None, None]:
        """Ping inside this block whenever nothing was written for ``every_s``."""
        if every_s is None:
            yield
            return
        pinger = asyncio.create_task(self._ping(every_s))
        try:
            yield
        finally:
            pinger.cancel()
            with suppress(asyncio.CancelledError):
                await pinger

    async def _ping(self, every_s: float) -> None:
        while True:
            quiet_s = self._clock() - self._written_s
            if quiet_s >= every_s:
                await self.write(PING)
            else:
                await asyncio.sleep(every_s - quiet_s)
