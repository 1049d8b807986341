"""OpenAI's answer shapes: whole bodies, and stream chunks around prebuilt constant parts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from reame.api.tally import Json, Tally
from reame.types import FinishReason

_NOT_FINISHED = b',"logprobs":null,"finish_reason":null}]'


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all parts of one answer have in common."""

    id: str
    created: int
    model: str
    fingerprint: str


def _message(text: str) -> Json:
    return {"message": {"role": "assistant", "content": text, "refusal": None}}


def _text(text: str) -> Json:
    return {"text": text}


@dataclass(frozen=True, slots=True)
class Style:
    """How chat and completion answers differ.

    A chunk's choice is ``before``, the text as JSON, ``after``; ``opening`` comes in front of all
    pieces and ``ending`` carries the finish reason.
    """

    id_prefix: str
    whole_object: str
    chunk_object: str
    choice: Callable[[str], Json]
    before: bytes
    after: bytes
    opening: bytes | None
    ending: bytes


CHAT = Style(
    id_prefix="chatcmpl-",
    whole_object="chat.completion",
    chunk_object="chat.completion.chunk",
    choice=_message,
    before=b',"delta":{"content":',
    after=b"}" + _NOT_FINISHED,
    opening=b',"delta":{"role":"assistant","content":""}' + _NOT_FINISHED,
    ending=b',"delta":{},"logprobs":null,"finish_reason":',
)
COMPLETION = Style(
    id_prefix="cmpl-",
    whole_object="text_completion",
    chunk_object="text_completion",
    choice=_text,
    before=b',"text":',
    after=_NOT_FINISHED,
    opening=None,
    ending=b',"text":"","logprobs":null,"finish_reason":',
)


def whole_answer(style: Style, envelope: Envelope, texts: Sequence[str], tally: Tally) -> bytes:
    """The body of an answer that is not streamed."""
    choices = [
        {"index": index, **style.choice(text), "logprobs": None, "finish_reason": reason.value}
        for index, (text, reason) in enumerate(zip(texts, tally.reasons(), strict=True))
    ]
    return orjson.dumps(
        {
            **_head(envelope, style.whole_object),
            "choices": choices,
            "usage": tally.usage(),
            "timings": tally.timings(),
        }
    )


class ChunkWriter:
    """Writes the chunks of one stream as server-sent events.

    ``usage`` is written as ``null`` in every chunk of a stream that ends with it, or, when
    ``continuous``, counted up to each chunk.
    """

    def __init__(
        self, style: Style, envelope: Envelope, tally: Tally, *, include_usage: bool, continuous: bool
    ) -> None:
        head = orjson.dumps(_head(envelope, style.chunk_object))[:-1]
        self._start = b"data: " + head + b',"choices":['
        self._style = style
        self._tally = tally
        self._include_usage = include_usage
        self._continuous = continuous
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"

    def opening(self, index: int) -> bytes:
        """The first chunk of a choice; nothing where the style has none."""
        return b"" if self._style.opening is None else self._chunk(index, self._style.opening)

    def piece(self, index: int, text: str) -> bytes:
        """A piece of a choice's text."""
        style = self._style
        return self._chunk(index, style.before, orjson.dumps(text), style.after)

    def ending(self, index: int, reason: FinishReason, *, is_last: bool) -> bytes:
        """The chunk that ends a choice; the request's last one carries ``timings``."""
        timings = b"" if self._include_usage or not is_last else self._timings()
        return self._chunk(index, self._style.ending, b'"%s"}]' % reason.value.encode(), timings)

    def done(self) -> bytes:
        """The usage chunk, if asked for, and the end of the stream."""
        if not self._include_usage:
            return DONE
        usage = orjson.dumps(self._tally.usage())
        return b"".join((self._start, b'],"usage":', usage, self._timings(), b"}\n\n", DONE))

    def _chunk(self, index: int, *parts: bytes) -> bytes:
        tail = self._usage_so_far() if self._continuous else self._tail
        return b"".join((self._start, b'{"index":%d' % index, *parts, tail))

    def _usage_so_far(self) -> bytes:
        return b',"usage":' + orjson.dumps(self._tally.usage()) + b"}\n\n"

    def _timings(self) -> bytes:
        return b',"timings":' + orjson.dumps(self._tally.timings())


DONE = b"data: [DONE]\n\n"


def _head(envelope: Envelope, kind: str) -> Json:
    return {
        "id": envelope.id,
        "object": kind,
        "created": envelope.created,
        "model": envelope.model,
        "system_fingerprint": envelope.fingerprint,
    }
