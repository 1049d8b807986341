"""A request's body, from the socket to a JSON object."""

from __future__ import annotations

import orjson
from starlette.types import Receive

from reame.api.failures import ClientGoneError
from reame.api.fields import Fields, shown
from reame.errors import InvalidRequestError


async def read_fields(receive: Receive) -> Fields:
    """Read the whole body as one JSON object; the content type is not looked at.

    Raises:
        ClientGoneError: the client left before its body was complete.
        InvalidRequestError: the body is not a JSON object.
        PayloadTooLargeError: from the middleware that counts.
    """
    return parse_fields(await read_body(receive))


async def read_body(receive: Receive) -> bytes:
    """Read the whole body.

    Raises:
        ClientGoneError: the client left before it was complete.
        PayloadTooLargeError: from the middleware that counts.
    """
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def parse_fields(body: bytes) -> Fields:
    """Parse one JSON object. NaN, infinities, invalid UTF-8, lone surrogates and very deep
    nesting are refused.

    Raises:
        InvalidRequestError: says what is wrong with the body, and where.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(f"The body is not valid JSON: {error}.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidRequestError(f"The body must be a JSON object, not {shown(value)}.", code="invalid_json")
    return Fields(value)
