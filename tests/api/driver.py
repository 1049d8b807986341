"""An ASGI server in the test's hands: it decides when the client leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Scope


class Exchange:
    """One POST. ``leave`` closes the connection, ``task`` is the server's handler.

    With ``is_broken`` every send fails, as some servers do it when nobody reads any more.
    """

    def __init__(self, app: ASGIApp, path: str, body: object, *, is_broken: bool = False) -> None:
        self._is_broken = is_broken
        self.sent: list[Message] = []
        self.got = asyncio.Event()
        self.left = asyncio.Event()
        self._body: bytes | None = json.dumps(body).encode()
        self.task = asyncio.create_task(self._run(app, path))

    async def _run(self, app: ASGIApp, path: str) -> None:
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "headers": [],
        }
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self._is_broken:
            raise OSError("connection lost")
        self.sent.append(message)
        self.got.set()

    async def until(self, is_reached: Callable[[], bool]) -> None:
        """Wait until something that was sent makes this true."""
        while not is_reached():
            self.got.clear()
            await self.got.wait()

    def leave(self) -> None:
        """The client closes its connection."""
        self.left.set()

    def text(self) -> str:
        """The body so far."""
        return b"".join(m.get("body", b"") for m in self.sent).decode()


def other_tasks() -> set[asyncio.Task[Any]]:
    """Every task but the one that asks."""
    return asyncio.all_tasks() - {asyncio.current_task()}
