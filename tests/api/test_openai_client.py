"""The official client, checking every field of every answer, against a real server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest
import uvicorn
from openai import AsyncOpenAI
from openai.types import Completion

from reame.errors import OverloadedError, SequenceFailedError

from .fakes import MODEL, FakeGenerator, make_app
from .sse import events

MESSAGES: Any = [{"role": "user", "content": "Hi"}]


@asynccontextmanager
async def served(generator: FakeGenerator | None = None, **options: Any) -> AsyncIterator[str]:
    """The app on a loopback port of its own."""
    app = make_app(generator, **{"api_keys": ("sk-test",), **options})
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http="httptools", log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def connected(
    generator: FakeGenerator | None = None, key: str = "sk-test", **options: Any
) -> AsyncIterator[AsyncOpenAI]:
    """The strict client of such a server."""
    async with (
        served(generator, **options) as url,
        AsyncOpenAI(base_url=url, api_key=key, max_retries=0, _strict_response_validation=True) as client,
    ):
        yield client


async def test_chat() -> None:
    """A chat answer is whole by the client's own types."""
    async with connected() as client:
        answer = await client.chat.completions.create(model=MODEL, messages=MESSAGES, n=2, seed=1, stop=["x"])
    assert [choice.message.content for choice in answer.choices] == ["Hello!", "Hello!"]
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 0


async def test_chat_stream() -> None:
    """So is every chunk of a stream, and its usage."""
    async with connected() as client:
        stream = await client.chat.completions.create(
            model=MODEL, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Hello!"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 15


async def test_completion() -> None:
    """The legacy endpoint answers by the client's types too."""
    async with connected() as client:
        answer = await client.completions.create(model=MODEL, prompt=["a", "b"], echo=True)
    assert [choice.text for choice in answer.choices] == ["aHello!", "bHello!"]


async def test_completion_stream() -> None:
    """Each chunk is right by the client's types, but for the reason of a choice that goes on.

    OpenAI sends ``null`` there, as we do; the client's type does not admit it.
    """
    async with connected() as client:
        raw = await client.completions.with_raw_response.create(
            model=MODEL, prompt="a", stream=True, stream_options={"include_usage": True}
        )
        chunks = events((await raw.http_response.aread()).decode())[:-1]
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    assert reasons == [None, None, None, "stop"]
    for chunk in chunks:
        for choice in chunk["choices"]:
            choice["finish_reason"] = "stop"
        Completion.model_validate(chunk, strict=True)


async def test_models() -> None:
    """Models are listed and found, an id with a slash too."""
    async with connected() as client:
        assert [m.id async for m in client.models.list()] == [MODEL]
        assert (await client.models.retrieve(MODEL)).id == MODEL


async def test_errors_have_their_classes() -> None:
    """Each status becomes the client's own exception, with our code."""
    async with connected(max_body_bytes=1000) as client:
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as missing:
            await create(model="gpt-9", messages=MESSAGES)
        with pytest.raises(openai.BadRequestError) as wrong:
            await create(model=MODEL, messages=MESSAGES, temperature=99)
        with pytest.raises(openai.BadRequestError) as long:
            await create(model=MODEL, messages=[{"role": "user", "content": "x" * 300}])
        with pytest.raises(openai.APIStatusError) as large:
            await create(model=MODEL, messages=[{"role": "user", "content": "x" * 2_000_000}])
    assert (missing.value.code, wrong.value.param) == ("model_not_found", "temperature")
    assert long.value.code == "context_length_exceeded"
    assert (large.value.status_code, large.value.code) == (413, "payload_too_large")


async def test_a_wrong_key() -> None:
    """401 is the client's AuthenticationError."""
    async with connected(key="sk-wrong") as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()


async def test_a_full_server() -> None:
    """503 comes with Retry-After."""
    async with connected(FakeGenerator(refusal=OverloadedError("full", retry_after_s=3))) as client:
        with pytest.raises(openai.InternalServerError) as full:
            await client.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert full.value.status_code == 503
    assert full.value.response.headers["retry-after"] == "3"


async def test_an_error_in_a_stream() -> None:
    """The client raises what the error chunk says."""
    async with connected(FakeGenerator(("a", SequenceFailedError("no such luck")))) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True)
        with pytest.raises(openai.APIError, match="no such luck"):
            [chunk async for chunk in stream]


async def test_a_real_disconnect() -> None:
    """A closed socket ends the sequence, streamed or not."""
    for stream in (True, False):
        generator = FakeGenerator(("a", asyncio.Event()))
        async with served(generator) as url, httpx.AsyncClient() as client:
            body = {"messages": MESSAGES, "stream": stream}
            post = asyncio.create_task(
                client.post(f"{url}/chat/completions", json=body, headers={"x-api-key": "sk-test"})
            )
            await generator.opened.wait()
            post.cancel()
            await generator.closed.wait()
        assert generator.num_open == 0
