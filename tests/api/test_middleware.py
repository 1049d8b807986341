"""Keys, sizes, paths, request ids and CORS."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from reame.api.paths import plain_path

from .fakes import FakeGenerator, chat_body, make_app, make_client

CHAT = "/v1/chat/completions"
KEYS = ("sk-one", "sk-two")


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer sk-one"},
        {"authorization": "bearer  sk-two"},
        {"x-api-key": "sk-two"},
        {"authorization": "Basic abc", "x-api-key": "sk-one"},
    ],
)
async def test_any_key_opens(headers: dict[str, str]) -> None:
    """Each configured key is good, in either header."""
    async with make_client(make_app(api_keys=KEYS), **headers) as client:
        assert (await client.get("/v1/models")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer sk-three"},
        {"authorization": "Bearer "},
        {"authorization": "sk-one"},
        {"authorization": "Bearer sk-on"},
        {"authorization": "Bearer sk-one sk-two"},
        {"x-api-key": ""},
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/models", "/v1//models", "/metrics", "/version", "/nowhere"])
async def test_no_key_no_answer(headers: dict[str, str], path: str) -> None:
    """Without a valid key everything but the probes is 401, under every spelling of a path."""
    async with make_client(make_app(api_keys=KEYS), **headers) as client:
        answer = await client.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "invalid_api_key"


async def test_probes_need_no_key() -> None:
    """Health checks come without keys, also under /v1."""
    async with make_client(make_app(api_keys=KEYS)) as client:
        for path in ("/health", "/ready", "/v1/health", "/v1/ready"):
            assert (await client.get(path)).status_code == 200


async def test_non_ascii_keys_do_not_break() -> None:
    """Any bytes may come as a key."""
    async with make_client(make_app(api_keys=("schlüssel",))) as client:
        wrong = await client.get("/v1/models", headers=[(b"authorization", b"Bearer \xff\xfe")])
        right = await client.get("/v1/models", headers=[(b"authorization", "Bearer schlüssel".encode())])
    assert (wrong.status_code, right.status_code) == (401, 200)


async def test_told_length_over_the_limit() -> None:
    """A Content-Length over the limit is refused before the body is read."""
    async with make_client(make_app(max_body_bytes=100)) as client:
        answer = await client.post(CHAT, json=chat_body(user="x" * 100))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "payload_too_large"


async def test_untold_length_is_counted() -> None:
    """Chunked bodies are counted while they come; the rest is not read."""
    num_read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal num_read
        for _ in range(100):
            num_read += 1
            yield b" " * 30

    async with make_client(make_app(max_body_bytes=100)) as client:
        answer = await client.post(CHAT, content=chunks())
    assert answer.status_code == 413
    assert num_read < 10


@pytest.mark.parametrize("told", ["many", "-5", "9" * 50])
async def test_odd_lengths(told: str) -> None:
    """A Content-Length that is no sensible number never breaks anything."""
    async with make_client(make_app()) as client:
        answer = await client.post(CHAT, content=b"{}", headers={"content-length": told})
    assert answer.status_code in (400, 413)


async def test_a_body_of_the_limit_passes() -> None:
    """The limit itself is allowed."""
    body = b'{"messages":[{"role":"user","content":"x"}]}'
    async with make_client(make_app(max_body_bytes=len(body))) as client:
        assert (await client.post(CHAT, content=body)).status_code == 200


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/v1/models", "/models"),
        ("/v1//models/", "/models"),
        ("//v1/models", "/models"),
        ("/models", "/models"),
        ("/v1", "/"),
        ("/v1x/models", "/v1x/models"),
        ("/", "/"),
        ("", "/"),
    ],
)
def test_paths_have_one_form(path: str, plain: str) -> None:
    """Slashes too many and ``/v1`` make no difference."""
    assert plain_path(path) == plain


async def test_request_ids() -> None:
    """A decent id is echoed, another one replaced, on errors too."""
    async with make_client(make_app()) as client:
        for path in ("/health", "/nowhere"):
            assert (await client.get(path, headers={"x-request-id": "abc-1"})).headers[
                "x-request-id"
            ] == "abc-1"
            for bad in (b"", b"a b", b"x" * 129, b"a\xff", b"a\tb"):
                answer = await client.get(path, headers=[(b"x-request-id", bad)])
                assert answer.headers["x-request-id"].startswith("req-")
                assert answer.headers["openai-processing-ms"].isdigit()


async def test_cors_is_outermost() -> None:
    """Every answer to a page of an allowed origin can be read by it, errors too."""
    app = make_app(
        FakeGenerator(refusal=RuntimeError("x")), api_keys=KEYS, cors_origins=("https://ui.example",)
    )
    origin = {"origin": "https://ui.example"}
    async with make_client(app, **origin) as client:
        key = {"x-api-key": KEYS[0]}
        answers = [
            await client.get("/v1/models"),
            await client.get("/nowhere", headers=key),
            await client.post(CHAT, headers=key, content=b"{"),
            await client.post(CHAT, headers=key, json=chat_body()),
        ]
    assert [a.status_code for a in answers] == [401, 404, 400, 500]
    assert {a.headers["access-control-allow-origin"] for a in answers} == {"https://ui.example"}
    assert all("x-request-id" in a.headers["access-control-expose-headers"] for a in answers)


async def test_preflight_needs_no_key() -> None:
    """Browsers ask without credentials."""
    asked = {
        "origin": "https://any.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
    }
    async with make_client(make_app(api_keys=KEYS, cors_origins=("*",)), **asked) as client:
        answer = await client.options(CHAT)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "authorization" in answer.headers["access-control-allow-headers"]


async def test_no_cors_by_default() -> None:
    """Without origins nothing is allowed, and a bare OPTIONS is still answered without a key."""
    async with make_client(make_app(api_keys=KEYS), origin="https://x.example") as client:
        answer = await client.options(CHAT)
        assert answer.status_code == 204
        assert "access-control-allow-origin" not in answer.headers


async def test_access_log(caplog: pytest.LogCaptureFixture) -> None:
    """One line a request with its id; probes only at debug."""
    async with make_client(make_app()) as client:
        with caplog.at_level(logging.INFO, "reame.access"):
            await client.get("/v1/models", headers={"x-request-id": "abc"})
            await client.get("/health")
    lines: list[Any] = [r for r in caplog.records if r.name == "reame.access"]
    assert [r.request_id for r in lines] == ["abc"]
    assert lines[0].getMessage().startswith("GET /v1/models 200 ")


@pytest.mark.parametrize("log_prompts", [False, True])
async def test_prompts_are_logged_only_if_asked(caplog: pytest.LogCaptureFixture, log_prompts: bool) -> None:
    """Prompts and answers are private unless ``[logging] prompts`` says otherwise."""
    body = {"messages": [{"role": "user", "content": "tell nobody"}]}
    async with make_client(make_app(log_prompts=log_prompts)) as client:
        with caplog.at_level(logging.DEBUG):
            await client.post(CHAT, json=body)
            await client.post(CHAT, json=body | {"temperature": 99})
    assert caplog.text.count("tell nobody") == int(log_prompts)
    assert caplog.text.count("Hello!") == int(log_prompts)
