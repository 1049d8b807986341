"""The endpoints that generate: read, tokenize, ask the engine, answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress

from starlette.types import Receive, Scope, Send

from reame.api.answer import Answer, send_stream, send_whole
from reame.api.body import parse_fields, read_body
from reame.api.disconnect import deadline, until_disconnect
from reame.api.failures import ClientGoneError, failure_of
from reame.api.fields import Fields
from reame.api.merge import accept, generate_all
from reame.api.observe import Observer, count_outcome
from reame.api.plan import encode_prompts, plan
from reame.api.scopes import log_failure, request_id
from reame.api.service import Service
from reame.api.shapes import DONE, Style
from reame.api.sse import EventStream
from reame.api.tally import Tally
from reame.api.wanted import Wanted

prompt_logger = logging.getLogger("reame.prompts")

_LAST_WORDS_S = 5.0
"""How long a client that reads nothing may delay the end of its failed stream."""

_MAX_INLINE_BYTES = 32 * 1024
"""Longer bodies are parsed beside the event loop, so that no stream waits for them."""


class GenerationEndpoint:
    """An ASGI app for one kind of generation."""

    def __init__(self, service: Service, parse: Callable[[Fields, int], Wanted], style: Style) -> None:
        self._service = service
        self._parse = parse
        self._style = style

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the engine's work ends with it, however it ends."""
        began_s = self._service.clock()
        try:
            wanted = await self._read(receive)
            failure = await until_disconnect(receive, self._serve(wanted, request_id(scope), send))
        except BaseException as error:
            self._count(error, began_s)
            raise
        self._count(failure, began_s)

    def _count(self, failure: BaseException | None, began_s: float) -> None:
        count_outcome(self._service.metrics, failure, self._service.clock() - began_s)

    async def _read(self, receive: Receive) -> Wanted:
        body = await read_body(receive)
        if len(body) <= _MAX_INLINE_BYTES:
            return self._parse_body(body)
        return await asyncio.to_thread(self._parse_body, body)

    def _parse_body(self, body: bytes) -> Wanted:
        fields = parse_fields(body)
        self._service.check_model(fields)
        return self._parse(fields, self._service.backend.encoder.tokenizer.vocab_size)

    async def _serve(self, wanted: Wanted, name: str, send: Send) -> Exception | None:
        """Answer. An error after the status line goes into the stream and is returned."""
        stream = EventStream(send)
        try:
            async with deadline(self._service.options.timeout_s):
                await self._generate(wanted, name, send, stream)
        except ClientGoneError:
            raise
        except Exception as error:
            if not stream.started:
                raise
            await _end_failed(stream, error, name)
            return error
        return None

    async def _generate(self, wanted: Wanted, name: str, send: Send, stream: EventStream) -> None:
        """The first events are awaited before anything is sent, so that a refusal has its status."""
        service, options = self._service, self._service.options
        observer = Observer(service.metrics, service.clock, wanted.num_sequences, wanted.stream)
        answer = await self._plan(wanted, name)
        requests = answer.planned.requests
        merged = generate_all(service.backend.generator, requests, options.max_parallel)
        async with aclosing(observer.watch(merged)) as events:
            accepted = await accept(events, min(len(requests), options.max_parallel))
            async with aclosing(accepted):
                if wanted.stream:
                    await send_stream(answer, accepted, stream, options.sse_ping_s)
                else:
                    await send_whole(answer, accepted, send)
        self._log("answer", answer.tally.texts(), name)

    async def _plan(self, wanted: Wanted, name: str) -> Answer:
        service = self._service
        envelope = service.envelope(self._style)
        prompts = await encode_prompts(wanted, service.backend.encoder)
        planned = plan(
            wanted,
            prompts,
            answer_id=envelope.id,
            context_length=(await service.facts.info()).context_length,
            stream_interval_s=service.options.stream_interval_s,
        )
        self._log("prompt", planned.prompt_texts, name)
        tally = Tally(len(planned.requests), planned.num_prompt_tokens, service.backend.replica)
        return Answer(self._style, envelope, wanted, planned, tally)

    def _log(self, what: str, texts: Iterable[str], name: str) -> None:
        """Log what was said, if ``[logging] prompts`` allows it."""
        if self._service.options.log_prompts:
            for text in texts:
                prompt_logger.info("%s: %s", what, text, extra={"request_id": name})


async def _end_failed(stream: EventStream, error: Exception, name: str) -> None:
    failure = failure_of(error, name)
    log_failure(error, failure.status, name)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_S):
            await stream.end(b"data: " + failure.body() + b"\n\n" + DONE)
