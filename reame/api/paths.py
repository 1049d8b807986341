"""Many spellings of a path, one route."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

_SLASHES = re.compile("/{2,}")


class Paths:
    """One form for each path: single slashes, no ``/v1``, none at the end. Answers a bare OPTIONS."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            return await send({"type": "http.response.body", "body": b""})
        root = scope.get("root_path", "")
        path = plain_path(scope["path"].removeprefix(root) if root else scope["path"])
        await self._app({**scope, "path": path, "root_path": ""}, receive, send)


def plain_path(path: str) -> str:
    """``/v1//models/`` and ``/models`` are the same."""
    single = _SLASHES.sub("/", path)
    short = single.removeprefix("/v1") if single == "/v1" or single.startswith("/v1/") else single
    return "/" + short.strip("/")
