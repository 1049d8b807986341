"""A conversation with one engine, on an event loop that runs only while an answer does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Self

from reame.engine.client import EngineClient
from reame.engine.options import EngineOptions
from reame.errors import ContextLengthError
from reame.prompt import PromptEncoder
from reame.types import Finish, GenerateRequest, SamplingParams

_STREAM_INTERVAL_S = 0.03


class Chat:
    """Keeps the messages; every answer is streamed to ``show`` and remembered.

    A context manager: it starts the engine and ends it.
    """

    def __init__(
        self,
        model: Path,
        options: EngineOptions,
        *,
        template: str | None,
        system: str | None,
        sampling: SamplingParams,
        max_tokens: int,
    ) -> None:
        self._model = model
        self._template = template
        self._client = EngineClient(options)
        self._sampling = sampling
        self._max_tokens = max_tokens
        self._opening = [{"role": "system", "content": system}] if system else []
        self._messages = list(self._opening)
        self._num_answers = 0
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        try:
            self._encoder = PromptEncoder.from_gguf(self._model, self._template)
            self._context_length = self._runner.run(self._client.start()).context_length
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    def reset(self) -> None:
        """Forget the conversation; the system message stays."""
        self._messages = list(self._opening)

    def ask(self, text: str, show: Callable[[str], None]) -> Finish | None:
        """Answer ``text``. An answer that Ctrl-C cuts short is remembered as far as it went.

        Raises:
            ContextLengthError: the conversation has outgrown the context; nothing was remembered.
            KeyboardInterrupt: on Ctrl-C, after the engine was told to stop.
        """
        messages = [*self._messages, {"role": "user", "content": text}]
        request = self._request(self._encoder.chat(messages).ids)
        pieces: list[str] = []
        try:
            return self._runner.run(self._stream(request, pieces, show))
        finally:
            if pieces:
                self._messages = [*messages, {"role": "assistant", "content": "".join(pieces)}]

    def _request(self, ids: tuple[int, ...]) -> GenerateRequest:
        room = self._context_length - len(ids)
        if room < 1:
            raise ContextLengthError(limit=self._context_length, num_prompt_tokens=len(ids), max_tokens=1)
        self._num_answers += 1
        return GenerateRequest(
            request_id=f"chat-{self._num_answers}",
            prompt_ids=ids,
            max_tokens=min(room, self._max_tokens),
            sampling=self._sampling,
            stream_interval_s=_STREAM_INTERVAL_S,
        )

    async def _stream(
        self, request: GenerateRequest, pieces: list[str], show: Callable[[str], None]
    ) -> Finish | None:
        finish = None
        async with aclosing(self._client.generate(request)) as events:
            async for event in events:
                if event.text:
                    pieces.append(event.text)
                    show(event.text)
                finish = event.finish
        return finish
