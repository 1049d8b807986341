"""Whatever JSON comes: an answer or a whole error object, and never a fault of ours."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .fakes import chat_body, make_app, make_client
from .sse import events

FIELDS = """
    model messages prompt max_tokens max_completion_tokens temperature top_p top_k min_p n stop stream
    stream_options seed logit_bias presence_penalty frequency_penalty repeat_penalty repetition_penalty
    repeat_last_n ignore_eos echo suffix best_of logprobs top_logprobs tools tool_choice functions
    response_format chat_template_kwargs add_generation_prompt reasoning_effort tokens content with_pieces
"""

SCALARS = st.none() | st.booleans() | st.integers(-3, 300) | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "tool", "x"])},
    optional={"content": VALUES, "name": VALUES, "tool_calls": VALUES, "tool_call_id": VALUES},
)
GOOD = {"messages": [{"role": "user", "content": "a"}], "prompt": "a"}
SOME_FIELDS = st.dictionaries(st.sampled_from(FIELDS.split()), VALUES, max_size=4)
SOME_MESSAGES = st.lists(MESSAGE, max_size=3).map(lambda messages: {"messages": messages})
BODIES = st.builds(
    lambda fields, messages: GOOD | messages | fields, SOME_FIELDS, st.just({}) | SOME_MESSAGES
)
PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/tokenize", "/v1/detokenize")


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=BODIES)
async def test_no_body_breaks_the_api(path: str, body: dict[str, object]) -> None:
    """200 with an answer or 4xx with an error object; nothing else."""
    async with make_client(make_app()) as client:
        answer = await client.post(path, content=json.dumps(body).encode())
    if answer.status_code == 200:
        is_stream = answer.headers["content-type"].startswith("text/event-stream")
        assert events(answer.text)[-1] == "[DONE]" if is_stream else answer.json()
    else:
        assert 400 <= answer.status_code < 500
        error = answer.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=40))
async def test_no_bytes_break_the_api(body: bytes) -> None:
    """Bytes that are no JSON are 400."""
    async with make_client(make_app()) as client:
        answer = await client.post(PATHS[0], content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


async def test_the_good_body_is_good() -> None:
    """The property is not about refusals only."""
    async with make_client(make_app()) as client:
        assert (await client.post(PATHS[0], json=GOOD)).status_code == 200
        assert (await client.post(PATHS[1], json=chat_body(prompt="a"))).status_code == 200
