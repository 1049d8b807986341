"""A generator that follows a script, an encoder with one token a character, and apps over both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from reame.api import ApiOptions, Backend, create_app
from reame.errors import InvalidRequestError
from reame.prompt import EncodedPrompt
from reame.types import (
    EngineInfo,
    EngineLoad,
    Finish,
    FinishReason,
    GenerateEvent,
    GenerateRequest,
    Timings,
)

MODEL = "org/tiny"
CONTEXT = 200
VOCAB = 0x110000
BOS = 1

Step = str | BaseException | asyncio.Event
"""A piece of text, an error to raise, or something to wait for."""


@dataclass
class FakeGenerator:
    """Plays ``script`` for each request, after the empty first event.

    ``refusal`` is raised before that event; ``script_of`` gives single requests another script.
    """

    script: Sequence[Step] = ("Hel", "lo", "!")
    refusal: BaseException | None = None
    script_of: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    reason: FinishReason = FinishReason.STOP
    state: str = "ready"
    ends: bool = True
    requests: list[GenerateRequest] = field(default_factory=list)
    num_open: int = 0
    max_open: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
        """Stream the script."""
        self.requests.append(request)
        self.num_open += 1
        self.max_open = max(self.max_open, self.num_open)
        self.opened.set()
        try:
            if self.refusal is not None:
                raise self.refusal
            yield GenerateEvent()
            num_generated = 0
            for step in self.script_of.get(request.request_id.rpartition("-")[2], self.script):
                if isinstance(step, BaseException):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif request.max_tokens:
                    num_generated += len(step)
                    yield GenerateEvent(step, tuple(map(ord, step)))
            if self.ends:
                yield GenerateEvent(finish=self._finish(request, num_generated))
        finally:
            self.num_open -= 1
            if not self.num_open:
                self.closed.set()

    def _finish(self, request: GenerateRequest, num_generated: int) -> Finish:
        num_prompt = len(request.prompt_ids)
        timings = Timings(2.0, num_prompt, 10.0, num_generated, 20.0)
        return Finish(self.reason, num_prompt, num_generated, timings)

    async def until_open(self, num_sequences: int) -> None:
        """Wait until this many sequences run."""
        while self.num_open < num_sequences:
            self.opened.clear()
            await self.opened.wait()

    async def info(self) -> EngineInfo:
        """A small engine."""
        return EngineInfo(CONTEXT, 4 * CONTEXT, 4, 2, 1000, 2000, VOCAB, 1)

    async def load(self) -> EngineLoad:
        """A constant load."""
        return EngineLoad(self.state, 1, 2, 4)


class FakeTokenizer:
    """A character's code point is its id; the BOS shows as nothing."""

    vocab_size = VOCAB
    bos_id: int | None = BOS

    def encode(self, text: str, *, add_bos: bool, parse_special: bool) -> list[int]:
        """Code points."""
        return [BOS] * add_bos + [ord(char) for char in text]

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """Characters."""
        return "".join(chr(i) for i in ids if i != BOS and not 0xD800 <= i < 0xE000)

    def piece(self, token_id: int) -> bytes:
        """UTF-8; Latin-1 letters stand for tokens that are half a character."""
        return chr(token_id).encode("latin-1" if 0x80 <= token_id < 0x100 else "utf-8", "replace")


class FakeEncoder:
    """``<role>content`` for each message."""

    def __init__(self, *, adds_bos: bool = True) -> None:
        self.tokenizer = FakeTokenizer()
        self.adds_bos = adds_bos
        self.kwargs: Mapping[str, object] | None = None

    def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[object] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
        add_generation_prompt: bool = True,
    ) -> EncodedPrompt:
        """Encode messages; a message that says "refuse" is one that the template refuses."""
        self.kwargs = template_kwargs
        text = "".join(f"<{m['role']}>{self._text(m['content'])}" for m in messages)
        if "refuse" in text:
            raise InvalidRequestError("the template said no", param="messages")
        return self.completion(text)

    @staticmethod
    def _text(content: object) -> str:
        if isinstance(content, list):
            return "\n".join(part["text"] for part in content)
        return "" if content is None else str(content)

    def completion(self, text: str) -> EncodedPrompt:
        """Encode text."""
        ids = self.tokenizer.encode(text, add_bos=self.adds_bos, parse_special=True)
        return EncodedPrompt(text, tuple(ids))


def make_app(
    generator: FakeGenerator | None = None, encoder: FakeEncoder | None = None, **options: object
) -> FastAPI:
    """The app over the fakes; ``options`` are those of :class:`ApiOptions`."""
    made = ApiOptions(**{"model_id": MODEL, "stream_interval_s": 0.0, **options})  # type: ignore[arg-type]
    return create_app(Backend(generator or FakeGenerator(), encoder or FakeEncoder()), made)


def make_client(app: FastAPI, **headers: str) -> AsyncClient:
    """An in-process client of ``app``."""
    return AsyncClient(transport=ASGITransport(app=app), base_url="http://test", headers=headers)


def chat_body(**fields: object) -> dict[str, object]:
    """A chat request."""
    return {"messages": [{"role": "user", "content": "Hi"}], **fields}
