"""Models, tokens, health, metrics, version, options."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reame.api import ApiOptions, api_options
from reame.api.info import EngineFacts
from reame.config import Settings, load_settings
from reame.errors import EngineUnavailableError

from .fakes import CONTEXT, MODEL, VOCAB, FakeGenerator, chat_body, make_app, make_client


class Silent(FakeGenerator):
    """An engine that is not there."""

    async def info(self) -> None:  # type: ignore[override]
        raise EngineUnavailableError("starting")

    async def load(self) -> None:  # type: ignore[override]
        raise EngineUnavailableError("no replica answers")


async def test_models() -> None:
    """The one served model, with llama-server's and vLLM's extras."""
    async with make_client(make_app()) as client:
        listed = (await client.get("/v1/models")).json()
        single = (await client.get(f"/v1/models/{MODEL}")).json()
        encoded = await client.get("/v1/models/org%2Ftiny")
        unknown = await client.get("/v1/models/other")
    assert listed == {"object": "list", "data": [single]}
    assert encoded.json() == single
    assert (single["id"], single["object"], single["owned_by"]) == (MODEL, "model", "reame")
    assert (single["max_model_len"], single["meta"]["n_ctx_train"]) == (CONTEXT, 4 * CONTEXT)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")


async def test_models_without_an_engine() -> None:
    """The list needs no engine; it lacks the extras then."""
    async with make_client(make_app(Silent())) as client:
        assert set((await client.get("/models")).json()["data"][0]) == {"id", "object", "created", "owned_by"}


@pytest.mark.parametrize("state", ["starting", "restarting", "draining"])
async def test_ready_and_live_differ(state: str) -> None:
    """Live as long as the process answers, ready only when the engine serves."""
    async with make_client(make_app(FakeGenerator(state=state))) as client:
        assert (await client.get("/health")).status_code == 200
        answer = await client.get("/ready")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert state in answer.json()["error"]["message"]


async def test_ready() -> None:
    """200 when the engine serves; 503 when nobody answers."""
    async with make_client(make_app()) as client:
        assert (await client.get("/ready")).json() == {"status": "ready"}
    async with make_client(make_app(Silent())) as client:
        assert (await client.get("/ready")).status_code == 503


async def test_version() -> None:
    """Names this version."""
    async with make_client(make_app()) as client:
        assert (await client.get("/version")).json()["version"]


@pytest.mark.parametrize("name", ["prompt", "content"])
async def test_tokenize_text(name: str) -> None:
    """vLLM's and llama-server's names for the text; BOS unless told otherwise."""
    async with make_client(make_app()) as client:
        answer = (await client.post("/v1/tokenize", json={name: "ab"})).json()
        bare = (await client.post("/tokenize", json={name: "ab", "add_special_tokens": False})).json()
    assert answer == {"tokens": [1, 97, 98], "count": 3, "max_model_len": CONTEXT}
    assert bare["tokens"] == [97, 98]


async def test_tokenize_messages() -> None:
    """Messages go through the template, as a chat's do."""
    async with make_client(make_app()) as client:
        answer = (await client.post("/tokenize", json=chat_body())).json()
    assert answer["count"] == 9


async def test_tokenize_pieces() -> None:
    """Pieces are text, or bytes where a token is half a character."""
    async with make_client(make_app()) as client:
        body = {"prompt": "aé", "with_pieces": True, "add_special_tokens": False}
        answer = (await client.post("/tokenize", json=body)).json()
    assert answer["tokens"] == [{"id": 97, "piece": "a"}, {"id": 233, "piece": [233]}]


@pytest.mark.parametrize("body", [{}, {"prompt": "a", "content": "b"}, {"prompt": 5}, {"messages": []}])
async def test_tokenize_faults(body: dict[str, object]) -> None:
    """Exactly one source, of the right type."""
    async with make_client(make_app()) as client:
        assert (await client.post("/tokenize", json=body)).status_code == 400


async def test_detokenize() -> None:
    """Both names for the text come back; wrong ids are 400."""
    async with make_client(make_app()) as client:
        answer = await client.post("/detokenize", json={"tokens": [97, 98]})
        empty = await client.post("/detokenize", json={"tokens": []})
        faults = [
            await client.post("/detokenize", json={"tokens": t}) for t in (None, "a", [VOCAB], [-1], ["a"])
        ]
    assert answer.json() == {"prompt": "ab", "content": "ab"}
    assert empty.json() == {"prompt": "", "content": ""}
    assert {f.status_code for f in faults} == {400}


async def test_metrics_page() -> None:
    """Our names and the aliases hold the same numbers, in a page that Prometheus can read."""
    app = make_app()
    async with make_client(app) as client:
        await client.post("/v1/chat/completions", json=chat_body(stream=True))
        await client.post("/v1/chat/completions", json=chat_body(temperature=99))
        page = (await client.get("/metrics")).text
    samples = {
        (s.name, *sorted(s.labels.items())): s.value
        for family in text_string_to_metric_families(page)
        for s in family.samples
    }
    assert samples["reame_requests_total", ("outcome", "ok")] == 1
    assert samples["reame_requests_total", ("outcome", "refused")] == 1
    assert samples[("reame_prompt_tokens_total",)] == 9
    assert samples[("reame_generated_tokens_total",)] == 6
    assert samples[("reame_ttft_seconds_count",)] == 1
    assert samples[("reame_itl_seconds_count",)] == 2
    assert samples[("reame_queue_seconds_sum",)] == 0.002
    assert samples[("reame_running",)] == 1
    assert samples[("reame_waiting",)] == 2
    assert samples[("reame_slots",)] == 4
    model = ("model_name", MODEL)
    assert samples["vllm:prompt_tokens_total", model] == samples["llamacpp:prompt_tokens_total", model] == 9
    assert samples["vllm:request_success_total", ("finished_reason", "stop"), model] == 1
    assert samples["vllm:time_to_first_token_seconds_count", model] == 1
    assert "_created" not in page


async def test_metrics_without_an_engine() -> None:
    """The page is there when the engine is not, and says so."""
    async with make_client(make_app(Silent())) as client:
        assert "reame_engine_ready 0.0" in (await client.get("/metrics")).text


async def test_the_engine_is_asked_once_a_minute() -> None:
    """Its description is remembered, and asked for again later."""
    now_s, num_asked = 0.0, 0

    class Counting(FakeGenerator):
        async def info(self):  # type: ignore[no-untyped-def]
            nonlocal num_asked
            num_asked += 1
            return await super().info()

    facts = EngineFacts(Counting(), lambda: now_s)
    for now_s in (0.0, 59.0, 61.0, 62.0):  # noqa: B007
        await facts.info()
    assert num_asked == 2


def test_options_of_the_defaults() -> None:
    """A bare configuration is open, without CORS, and named after its file."""
    assert api_options(Settings(), Path("x/Some.Q4.gguf")) == ApiOptions(model_id="Some.Q4")


def test_options_of_a_file(tmp_path: Path) -> None:
    """Every key that the API knows arrives."""
    conf = tmp_path / "reame.conf"
    conf.write_text(
        "[model]\nname = a\n[server]\nmodel_id = b\napi_key = k\nmax_request_size_mb = 2\n"
        "timeout_seconds = 0\ncors_origins = https://a, https://b\nsse_ping_seconds = 3\nparallel = 2\n"
        "[engine]\nstream_interval_ms = 50\n[logging]\nprompts = true\n"
    )
    assert api_options(load_settings(conf, {}), Path("x.gguf")) == ApiOptions(
        model_id="b",
        api_keys=("k",),
        max_body_bytes=2 * 1024 * 1024,
        timeout_s=None,
        cors_origins=("https://a", "https://b"),
        sse_ping_s=3.0,
        stream_interval_s=0.05,
        max_parallel=2,
        log_prompts=True,
    )
