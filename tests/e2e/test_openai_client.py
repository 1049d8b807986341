"""The official client, validating strictly, against real servers with the real model."""

import asyncio

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from reame.bench.servers import Server

pytestmark = pytest.mark.model

QUESTION = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]


def test_chat_answers_sensibly(client: OpenAI) -> None:
    """SmolLM2 knows the capital of France, and says so through every layer."""
    answer = client.chat.completions.create(model="default", messages=QUESTION, max_tokens=40, temperature=0)
    assert "Paris" in (answer.choices[0].message.content or "")
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_streamed_chat_is_the_same_answer_and_brings_usage(client: OpenAI) -> None:
    """Pieces join to the unstreamed text, and the last chunk carries the usage."""
    whole = client.chat.completions.create(model="default", messages=QUESTION, max_tokens=40, temperature=0)
    chunks = list(
        client.chat.completions.create(
            model="default",
            messages=QUESTION,
            max_tokens=40,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert (
        "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        == whole.choices[0].message.content
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert len({c.id for c in chunks}) == 1


def test_completion_streamed_and_not(client: OpenAI) -> None:
    """Raw text goes on where it ended."""
    options = {"model": "default", "prompt": "One, two, three, four,", "max_tokens": 8, "temperature": 0}
    whole = client.completions.create(**options)
    # the strict client wants a finish_reason in every streamed chunk, where OpenAI itself sends null
    pieces = OpenAI(base_url=client.base_url, api_key="sk-test").completions.create(**options, stream=True)
    assert "five" in whole.choices[0].text
    assert "".join(c.choices[0].text for c in pieces) == whole.choices[0].text


def test_n_answers_come_with_their_index(client: OpenAI) -> None:
    """Three answers, three indexes, one usage over them all."""
    answer = client.chat.completions.create(
        model="default", messages=QUESTION, max_tokens=8, n=3, temperature=1.5
    )
    assert [c.index for c in answer.choices] == [0, 1, 2]


def test_seed_repeats_and_stop_cuts(client: OpenAI) -> None:
    """The same seed gives the same answer; a stop string is never shown."""
    options = {"model": "default", "messages": QUESTION, "max_tokens": 24, "temperature": 1.2}
    first, second = (client.chat.completions.create(**options, seed=5) for _ in range(2))
    assert first.choices[0].message.content == second.choices[0].message.content
    cut = client.chat.completions.create(
        model="default", messages=QUESTION, max_tokens=40, temperature=0, stop="Paris"
    )
    assert "Paris" not in (cut.choices[0].message.content or "")
    assert cut.choices[0].finish_reason == "stop"


def test_models_are_listed(client: OpenAI) -> None:
    """The served model has an id that requests may name."""
    (model,) = client.models.list().data
    assert client.models.retrieve(model.id).id == model.id
    assert client.chat.completions.create(model=model.id, messages=QUESTION, max_tokens=1)


def test_each_error_is_the_clients_own_exception(client: OpenAI, base_url: str) -> None:
    """401, 404, 400 and 413 arrive as what the client expects of OpenAI."""
    with pytest.raises(openai.AuthenticationError):
        OpenAI(base_url=base_url, api_key="wrong", max_retries=0).models.list()
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-9", messages=QUESTION)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as too_long:
        client.chat.completions.create(model="default", messages=QUESTION, max_tokens=10_000_000)
    assert too_long.value.code == "context_length_exceeded"
    assert "maximum context length is" in too_long.value.message
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="default", messages=QUESTION, temperature=99)
    assert bad.value.param == "temperature"
    with pytest.raises(openai.APIStatusError) as too_large:
        client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": "x" * 2_000_000}]
        )
    assert too_large.value.status_code == 413


async def test_eight_clients_at_once_and_more_than_fit(server: Server, base_url: str) -> None:
    """Eight answer together; beyond the limit 503 says when to come back; afterwards all is as before."""
    async with AsyncOpenAI(base_url=base_url, api_key="sk-test", max_retries=0, timeout=120) as client:

        async def ask(max_tokens: int) -> str:
            answer = await client.chat.completions.create(
                model="default",
                messages=QUESTION,
                max_tokens=max_tokens,
                temperature=0,
                extra_body={"ignore_eos": True},
            )
            return answer.choices[0].message.content or ""

        answers = await asyncio.gather(*(ask(16) for _ in range(8)))
        assert all("Paris" in answer for answer in answers)
        outcomes = await asyncio.gather(*(ask(48) for _ in range(20)), return_exceptions=True)
        refused = [o for o in outcomes if isinstance(o, openai.APIStatusError)]
        assert len([o for o in outcomes if isinstance(o, str)]) == 12
        assert {o.status_code for o in refused} == {503}
        assert all(1 <= int(o.response.headers["retry-after"]) <= 60 for o in refused)
        assert "Paris" in await ask(16)


def test_health_needs_no_key_and_says_ready(server: Server) -> None:
    """Probes of an orchestrator carry no key."""
    root = f"http://{server.host}:{server.port}"
    assert httpx.get(f"{root}/health").status_code == 200
    assert httpx.get(f"{root}/ready").status_code == 200
    assert httpx.get(f"{root}/v1/models").status_code == 401


def test_tokenize_and_back(server: Server) -> None:
    """Text survives the way to ids and back."""
    root, headers = f"http://{server.host}:{server.port}", {"Authorization": "Bearer sk-test"}
    ids = httpx.post(f"{root}/tokenize", json={"content": "Grüße, 🦙!"}, headers=headers).json()["tokens"]
    back = httpx.post(f"{root}/detokenize", json={"tokens": ids}, headers=headers).json()
    assert back["content"] == "Grüße, 🦙!"
