"""The one table from errors to HTTP: status, OpenAI type, headers, body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from reame.errors import (
    AuthenticationError,
    EngineError,
    EngineUnavailableError,
    NotFoundError,
    OverloadedError,
    PayloadTooLargeError,
    ReameError,
    RequestError,
    UnknownModelError,
)

INVALID, SERVER = "invalid_request_error", "server_error"


class RequestTimeoutError(ReameError):
    """The answer took longer than ``[server] timeout_seconds``."""

    code = "timeout"


class MethodNotAllowedError(RequestError):
    """The path is there, but not for this method; ``allow`` are those it has."""

    code = "method_not_allowed"

    def __init__(self, message: str, *, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class ClientGoneError(Exception):
    """The client closed the connection; nobody is left to answer."""


_TABLE: tuple[tuple[type[ReameError], int, str], ...] = (
    (AuthenticationError, 401, "authentication_error"),
    (UnknownModelError, 404, INVALID),
    (NotFoundError, 404, INVALID),
    (MethodNotAllowedError, 405, INVALID),
    (PayloadTooLargeError, 413, INVALID),
    (RequestError, 400, INVALID),
    (OverloadedError, 503, SERVER),
    (EngineUnavailableError, 503, SERVER),
    (RequestTimeoutError, 504, SERVER),
    (EngineError, 500, SERVER),
    (ReameError, 500, SERVER),
)
"""The first row whose class fits."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a client sees it."""

    status: int
    type: str
    message: str
    param: str | None
    code: str | None
    headers: Mapping[str, str]

    def body(self) -> bytes:
        """OpenAI's error object."""
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return orjson.dumps({"error": error})


def failure_of(error: BaseException, request_id: str) -> Failure:
    """Say what a client is told of ``error``; one we did not raise on purpose stays inside."""
    if not isinstance(error, ReameError):
        message = f"Internal error. The server's log has the cause under request id {request_id}."
        return Failure(500, SERVER, message, None, "internal_error", {})
    status, kind = next((s, k) for cls, s, k in _TABLE if isinstance(error, cls))
    return Failure(status, kind, _sayable(error.message), error.param, error.code, _headers(error, status))


def _headers(error: ReameError, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    if isinstance(error, AuthenticationError):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowedError):
        headers["allow"] = error.allow
    if isinstance(error, OverloadedError | EngineUnavailableError):
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after_s)))
    if status < 500 or isinstance(error, RequestTimeoutError):
        headers["x-should-retry"] = "false"  # the same request would fail, or cost, the same again
    return headers


def _sayable(message: str) -> str:
    """``message`` without lone surrogates, which no JSON can hold."""
    return message.encode("utf-8", "replace").decode()
