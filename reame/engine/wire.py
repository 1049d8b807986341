"""Messages between a replica and its engine process: framed msgpack over a socket pair.

A frame is a little-endian u32 length and that many bytes of one message. Sequences are named
by a small integer that the client counts up, so a message stays short.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import msgspec

from reame.engine.options import EngineOptions
from reame.types import EngineInfo, Finish, GenerateRequest, TokenId

HEADER = struct.Struct("<I")
MAX_FRAME_BYTES = 256 * 1024 * 1024


class Start(msgspec.Struct, tag="start"):
    """Client to engine, once: load the model."""

    options: EngineOptions


class Submit(msgspec.Struct, tag="submit"):
    """Client to engine: queue one sequence."""

    seq: int
    request: GenerateRequest


class Cancel(msgspec.Struct, tag="cancel"):
    """Client to engine: the client of this sequence went away."""

    seq: int


class Ping(msgspec.Struct, tag="ping"):
    """Client to engine: are you alive? Answered beside the running step."""

    number: int


class Ready(msgspec.Struct, tag="ready"):
    """Engine to client, once: the model is loaded."""

    info: EngineInfo


class StartFailed(msgspec.Struct, tag="start_failed"):
    """Engine to client: the model cannot be loaded, and why."""

    message: str


class Event(msgspec.Struct, array_like=True):
    """News of one sequence."""

    seq: int
    text: str
    ids: list[TokenId]
    finish: Finish | None = None


class Events(msgspec.Struct, tag="events"):
    """Engine to client: what one step brought, with the load after it."""

    events: list[Event]
    num_running: int
    num_waiting: int


class Failed(msgspec.Struct, tag="failed"):
    """Engine to client: this sequence ended with an error of its own."""

    seq: int
    message: str


class Pong(msgspec.Struct, tag="pong"):
    """Engine to client: alive; the running step began ``step_age_s`` ago (0: idle)."""

    number: int
    step_age_s: float


ToEngine = Start | Submit | Cancel | Ping
FromEngine = Ready | StartFailed | Events | Failed | Pong


def _encode_path(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"cannot send {type(value).__name__} to the engine")


def _decode_path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise TypeError(f"cannot receive {kind.__name__}")


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_path)
to_engine_decoder = msgspec.msgpack.Decoder(ToEngine, dec_hook=_decode_path)
from_engine_decoder = msgspec.msgpack.Decoder(FromEngine)


def encode_frame(message: ToEngine | FromEngine) -> bytes:
    """One message as a frame, ready to send."""
    body = _encoder.encode(message)
    return HEADER.pack(len(body)) + body
