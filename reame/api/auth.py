"""API keys."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from starlette.types import ASGIApp, Receive, Scope, Send

from reame.api.scopes import header
from reame.errors import AuthenticationError

_OPEN_PATHS = ("/health", "/ready")


class Authentication:
    """Asks for one of the keys, in ``Authorization: Bearer`` or ``X-Api-Key``. Behind :class:`Paths`."""

    def __init__(self, app: ASGIApp, keys: tuple[str, ...]) -> None:
        self._app = app
        self._digests = tuple(sha256(key.encode()).digest() for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and self._digests and scope["path"] not in _OPEN_PATHS:
            self._check(_given_key(scope))
        await self._app(scope, receive, send)

    def _check(self, given: bytes | None) -> None:
        """Compare with every key in full, so that the time tells nothing about any."""
        if given is None:
            raise AuthenticationError(
                "No API key. Send one as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'."
            )
        digest = sha256(given).digest()
        if not sum(compare_digest(digest, known) for known in self._digests):
            raise AuthenticationError("This API key is not valid here.")


def _given_key(scope: Scope) -> bytes | None:
    scheme, _, token = (header(scope, b"authorization") or b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip()
    return header(scope, b"x-api-key") or None
