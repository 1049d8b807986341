"""Sends one answer, whole or as a stream of chunks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.types import Send

from reame.api.merge import Indexed
from reame.api.plan import Plan
from reame.api.replies import send_json
from reame.api.shapes import ChunkWriter, Envelope, Style, whole_answer
from reame.api.sse import EventStream
from reame.api.tally import Tally
from reame.api.wanted import Wanted
from reame.types import GenerateEvent


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of an answer before its first token. ``tally`` fills as events come."""

    style: Style
    envelope: Envelope
    wanted: Wanted
    planned: Plan
    tally: Tally


async def send_whole(answer: Answer, events: AsyncIterator[Indexed], send: Send) -> None:
    """Collect all events, then send one body."""
    async for index, event in events:
        answer.tally.add(index, event)
    texts = answer.tally.texts()
    if answer.wanted.echo:
        texts = [prompt + text for prompt, text in zip(answer.planned.prompt_texts, texts, strict=True)]
    await send_json(send, 200, whole_answer(answer.style, answer.envelope, texts, answer.tally))


async def send_stream(
    answer: Answer, events: AsyncIterator[Indexed], stream: EventStream, ping_s: float | None
) -> None:
    """Send chunks as events come; each event is at most one ``send``."""
    writer = ChunkWriter(
        answer.style,
        answer.envelope,
        answer.tally,
        include_usage=answer.wanted.include_usage,
        continuous=answer.wanted.continuous_usage,
    )
    num_left = len(answer.planned.requests)
    await stream.start(_openings(answer, writer))
    async with stream.pings(ping_s):
        async for index, event in events:
            answer.tally.add(index, event)
            num_left -= event.finish is not None
            if data := _chunks(writer, index, event, is_last=not num_left):
                await stream.write(data)
    await stream.end(writer.done())


def _openings(answer: Answer, writer: ChunkWriter) -> bytes:
    """Role chunks of a chat, the echoed prompts of a completion."""
    numbered = enumerate(answer.planned.prompt_texts)
    if answer.wanted.echo:
        return b"".join(writer.piece(index, text) for index, text in numbered if text)
    return b"".join(writer.opening(index) for index, _ in numbered)


def _chunks(writer: ChunkWriter, index: int, event: GenerateEvent, *, is_last: bool) -> bytes:
    piece = writer.piece(index, event.text) if event.text else b""
    if event.finish is None:
        return piece
    return piece + writer.ending(index, event.finish.reason, is_last=is_last)
