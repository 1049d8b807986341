"""Statuses, error objects, and errors after the status line."""

import logging
from typing import Any

import pytest

from reame.errors import (
    ContextLengthError,
    EngineDiedError,
    EngineUnavailableError,
    OverloadedError,
    SequenceFailedError,
)

from .fakes import CONTEXT, FakeGenerator, chat_body, make_app, make_client
from .sse import events

CHAT = "/v1/chat/completions"


async def ask(
    path: str, body: Any = None, generator: FakeGenerator | None = None, method: str = "POST", **options: Any
) -> Any:
    async with make_client(make_app(generator, **options)) as client:
        answer = await client.request(method, path, json=body)
        assert answer.headers["x-request-id"]
        return answer


def check(answer: Any, status: int, code: str, param: str | None = None) -> str:
    """The error object is whole; returns its message."""
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert set(error) == {"message", "type", "param", "code"}
    return str(error["message"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (OverloadedError("full", retry_after_s=2.2), 503, "overloaded"),
        (EngineUnavailableError("starting", retry_after_s=0.0), 503, "engine_unavailable"),
        (EngineDiedError("gone"), 500, "engine_died"),
        (ContextLengthError(limit=5, num_prompt_tokens=4, max_tokens=2), 400, "context_length_exceeded"),
        (RuntimeError("secret"), 500, "internal_error"),
    ],
)
async def test_refusals_have_their_status(refusal: Exception, status: int, code: str, stream: bool) -> None:
    """What fails before the first event has a status of its own, streamed or not."""
    answer = await ask(CHAT, chat_body(stream=stream), FakeGenerator(refusal=refusal))
    assert "secret" not in check(answer, status, code)
    assert ("retry-after" in answer.headers) == (status == 503)


async def test_retry_after_is_a_whole_second() -> None:
    """Fractions are rounded up, and never below one."""
    for given, header in [(2.2, "3"), (0.0, "1")]:
        refusal = OverloadedError("full", retry_after_s=given)
        answer = await ask(CHAT, chat_body(), FakeGenerator(refusal=refusal))
        assert answer.headers["retry-after"] == header


async def test_error_in_the_middle_of_a_stream() -> None:
    """After the status line an error is a chunk, then [DONE]; the text so far was sent."""
    generator = FakeGenerator(("Hel", SequenceFailedError("llama.cpp said no")))
    answer = await ask(CHAT, chat_body(stream=True), generator)
    *chunks, error, done = events(answer.text)
    assert (answer.status_code, done) == (200, "[DONE]")
    assert chunks[-1]["choices"][0]["delta"]["content"] == "Hel"
    assert error["error"]["code"] == "sequence_failed"


async def test_error_in_the_middle_of_a_whole_answer() -> None:
    """Without a stream the same error has its status."""
    check(await ask(CHAT, chat_body(), FakeGenerator(("a", EngineDiedError("gone")))), 500, "engine_died")


async def test_a_stream_that_just_ends_is_an_error() -> None:
    """An engine that stops without a finish is not taken for a whole answer."""
    check(await ask(CHAT, chat_body(), FakeGenerator(ends=False)), 500, "engine_error")


@pytest.mark.parametrize("stream", [False, True])
async def test_one_failing_choice_ends_all(stream: bool) -> None:
    """Sequences of one request fail together, and none goes on."""
    generator = FakeGenerator(script_of={"1": (EngineDiedError("gone"),)})
    answer = await ask(CHAT, chat_body(n=3, stream=stream), generator)
    assert "engine_died" in answer.text
    assert generator.num_open == 0


async def test_internal_errors_are_logged_with_the_request_id(caplog: pytest.LogCaptureFixture) -> None:
    """The traceback goes to the log, the id to the client."""
    with caplog.at_level(logging.ERROR):
        answer = await ask(CHAT, chat_body(), FakeGenerator(refusal=RuntimeError("secret")))
    name = answer.headers["x-request-id"]
    assert name in answer.json()["error"]["message"]
    assert [r.__dict__["request_id"] for r in caplog.records if r.exc_info] == [name]


async def test_too_long_a_prompt() -> None:
    """One token too many is 400 with the numbers and OpenAI's words."""
    fits, too_long = "x" * (CONTEXT - 2), "x" * (CONTEXT - 1)
    assert (await ask("/v1/completions", {"prompt": fits, "max_tokens": 1})).status_code == 200
    answer = await ask("/v1/completions", {"prompt": too_long, "max_tokens": 1})
    message = check(answer, 400, "context_length_exceeded", "prompt")
    expected = (
        f"This model's maximum context length is {CONTEXT} tokens. However, you requested {CONTEXT + 1}"
    )
    assert message.startswith(expected)


async def test_template_faults_are_the_clients() -> None:
    """What the template refuses is 400 with its words."""
    answer = await ask(CHAT, {"messages": [{"role": "user", "content": "refuse"}]})
    assert "the template said no" in check(answer, 400, "invalid_value", "messages")


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/tokenize"])
async def test_unknown_model(path: str) -> None:
    """Another model is 404, a model that is no string 400."""
    body = chat_body(model="gpt-9", prompt="x")
    check(await ask(path, body), 404, "model_not_found", "model")
    check(await ask(path, body | {"model": 5}), 400, "invalid_value", "model")


async def test_unknown_path() -> None:
    """404 is an error object that lists what is there, whatever bytes the path holds."""
    for path in ("/v1/responses", "/v2/x", "/%ff%00%0a", "/v1"):
        assert "/v1/chat/completions" in check(await ask(path, {}), 404, "not_found")


async def test_wrong_method() -> None:
    """405 says which methods there are."""
    answer = await ask(CHAT, method="GET")
    check(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"
    assert (await ask("/v1/models", {}, method="DELETE")).headers["allow"] == "GET, HEAD"


async def test_the_clients_errors_are_not_to_be_retried() -> None:
    """The SDK retries some statuses unless told not to."""
    assert (await ask(CHAT, {})).headers["x-should-retry"] == "false"
    assert "x-should-retry" not in (await ask(CHAT, chat_body())).headers


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"messages": "\\ud800"}', b"[" * 10_000])
async def test_broken_bodies(body: bytes) -> None:
    """What is no JSON object is 400, with any content type."""
    async with make_client(make_app()) as client:
        answer = await client.post(CHAT, content=body, headers={"content-type": "text/plain"})
    check(answer, 400, "invalid_json")


async def test_content_type_is_not_enforced() -> None:
    """A good body under another type is served."""
    async with make_client(make_app()) as client:
        answer = await client.post(CHAT, content=b'{"messages":[{"role":"user","content":"x"}]}')
    assert answer.status_code == 200
