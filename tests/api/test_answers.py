"""Chat and completion answers, whole and streamed."""

from typing import Any

import pytest

from reame.types import FinishReason

from .fakes import MODEL, FakeEncoder, FakeGenerator, chat_body, make_app, make_client
from .sse import events


async def post(
    path: str, body: dict[str, Any], generator: FakeGenerator | None = None, **options: Any
) -> Any:
    async with make_client(make_app(generator, **options)) as client:
        return await client.post(path, json=body)


async def stream(path: str, body: dict[str, Any], generator: FakeGenerator | None = None) -> list[Any]:
    answer = await post(path, body | {"stream": True}, generator)
    assert answer.status_code == 200
    return events(answer.text)


async def test_chat_answer() -> None:
    """A whole answer has OpenAI's shape, its usage and our timings."""
    answer = (await post("/v1/chat/completions", chat_body())).json()
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert (answer["object"], answer["model"]) == ("chat.completion", MODEL)
    assert answer["id"].startswith("chatcmpl-")
    assert isinstance(answer["created"], int)
    assert answer["usage"] == {
        "prompt_tokens": 9,
        "completion_tokens": 6,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert answer["timings"] == {
        "prompt_n": 9,
        "prompt_ms": 10.0,
        "predicted_n": 6,
        "predicted_ms": 20.0,
        "cache": {"slot": 0, "disk": 0, "mirror": 0},
        "replica": None,
        "queue_ms": 2.0,
        "resumed": False,
    }


async def test_ids_are_unique() -> None:
    """Two answers never share an id."""
    async with make_client(make_app()) as client:
        answers = [await client.post("/v1/chat/completions", json=chat_body()) for _ in range(2)]
    assert len({a.json()["id"] for a in answers}) == 2


async def test_length_is_said() -> None:
    """The engine's finish reason arrives."""
    answer = await post("/v1/chat/completions", chat_body(), FakeGenerator(reason=FinishReason.LENGTH))
    assert answer.json()["choices"][0]["finish_reason"] == "length"


async def test_chat_stream_framing() -> None:
    """Role first, then pieces, then the reason with an empty delta, then one [DONE]; one id for all."""
    chunks = await stream("/v1/chat/completions", chat_body())
    assert chunks.pop() == "[DONE]"
    assert "[DONE]" not in chunks
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "Hel"},
        {"content": "lo"},
        {"content": "!"},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 4 + ["stop"]
    assert ["usage" in chunk for chunk in chunks] == [False] * 5
    assert ["timings" in chunk for chunk in chunks] == [False] * 4 + [True]


async def test_stream_headers() -> None:
    """Proxies neither cache nor buffer a stream."""
    answer = await post("/v1/chat/completions", chat_body(stream=True))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"


async def test_usage_chunk() -> None:
    """Asked for usage, the last chunk has it and no choices; the others say null."""
    body = chat_body(stream_options={"include_usage": True})
    *chunks, usage, done = await stream("/v1/chat/completions", body)
    assert done == "[DONE]"
    assert {str(chunk["usage"]) for chunk in chunks} == {"None"}
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 15
    assert usage["timings"]["predicted_n"] == 6


async def test_continuous_usage() -> None:
    """vLLM's option counts up chunk by chunk."""
    body = chat_body(stream_options={"include_usage": True, "continuous_usage_stats": True})
    chunks = await stream("/v1/chat/completions", body)
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks[:-1]]
    assert counts == [0, 3, 5, 6, 6, 6]


@pytest.mark.parametrize("text", ['\u2028 \x00 " \\ \n', "\U0001f9d1\u200d\U0001f680", "\ufffd"])
async def test_any_text_survives(text: str) -> None:
    """Pieces with line separators, quotes, zeros and emoji arrive as they are."""
    chunks = await stream("/v1/chat/completions", chat_body(), FakeGenerator((text, text)))
    assert [c["choices"][0]["delta"].get("content") for c in chunks[1:3]] == [text, text]


async def test_events_without_text_send_nothing() -> None:
    """Held-back text makes no empty chunks."""
    chunks = await stream("/v1/completions", {"prompt": "a"}, FakeGenerator(("", "x", "")))
    assert [c["choices"][0]["text"] for c in chunks[:-1]] == ["x", ""]


async def test_completion_answer() -> None:
    """Text prompts answer as ``text_completion``."""
    answer = (await post("/v1/completions", {"prompt": "ab"})).json()
    assert answer["object"] == "text_completion"
    assert answer["id"].startswith("cmpl-")
    assert answer["choices"] == [{"index": 0, "text": "Hello!", "logprobs": None, "finish_reason": "stop"}]
    assert answer["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize("prompt", ["ab", [97, 98]])
async def test_echo(prompt: object) -> None:
    """Echo puts the prompt's text in front, whatever its shape; zero tokens give it alone."""
    body = {"prompt": prompt, "echo": True}
    assert (await post("/v1/completions", body)).json()["choices"][0]["text"] == "abHello!"
    chunks = await stream("/v1/completions", body)
    assert "".join(c["choices"][0]["text"] for c in chunks[:-1]) == "abHello!"
    alone = FakeGenerator(reason=FinishReason.LENGTH)
    answer = (await post("/v1/completions", body | {"max_tokens": 0}, alone)).json()
    assert answer["choices"][0]["text"] == "ab"
    assert alone.requests[0].max_tokens == 0


async def test_many_choices() -> None:
    """Each prompt gets ``n`` answers, in order."""
    generator = FakeGenerator(script_of={"2": ("two",)})
    answer = (await post("/v1/completions", {"prompt": ["a", "b"], "n": 2}, generator)).json()
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2, 3]
    assert [c["text"] for c in answer["choices"]] == ["Hello!", "Hello!", "two", "Hello!"]
    assert answer["usage"]["prompt_tokens"] == 4
    assert answer["usage"]["completion_tokens"] == 21


async def test_choices_share_one_stream() -> None:
    """Chunks of several choices carry their index; the timings come once, at the end."""
    chunks = await stream("/v1/chat/completions", chat_body(n=3))
    texts = ["", "", ""]
    for chunk in chunks[:-1]:
        choice = chunk["choices"][0]
        texts[choice["index"]] += choice["delta"].get("content", "")
    assert texts == ["Hello!"] * 3
    assert [i for i, chunk in enumerate(chunks[:-1]) if "timings" in chunk] == [len(chunks) - 2]


async def test_a_large_batch_runs_a_few_at_a_time() -> None:
    """One request never takes more than ``max_parallel`` places."""
    generator = FakeGenerator()
    answer = await post("/v1/completions", {"prompt": ["a"] * 20}, generator, max_parallel=3)
    assert len(answer.json()["choices"]) == 20
    assert generator.max_open == 3


@pytest.mark.parametrize("model", [None, "", "default", MODEL])
async def test_accepted_models(model: str | None) -> None:
    """The served id, ``default``, or nothing."""
    assert (await post("/v1/chat/completions", chat_body(model=model))).status_code == 200


async def test_template_variables_reach_the_encoder() -> None:
    """``chat_template_kwargs`` are handed on."""
    encoder = FakeEncoder()
    await post("/v1/chat/completions", chat_body(chat_template_kwargs={"a": 1}), encoder=encoder)
    assert encoder.kwargs == {"a": 1}
