"""From bodies to typed wishes."""

import math

import pytest

from reame.api.fields import Fields
from reame.api.wanted import MAX_SEQUENCES, ChatPrompt, Wanted, parse_chat, parse_completion
from reame.errors import InvalidRequestError
from reame.types import SamplingParams

VOCAB = 1000


def chat(**fields: object) -> Wanted:
    return parse_chat(Fields({"messages": [{"role": "user", "content": "Hi"}], **fields}), VOCAB)


def completion(**fields: object) -> Wanted:
    return parse_completion(Fields({"prompt": "Hi", **fields}), VOCAB)


def fault(**fields: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        chat(**fields)
    return caught.value


def test_a_bare_request_has_the_defaults() -> None:
    """What is absent is the engine's default, one whole answer, as long as fits."""
    wanted = chat()
    assert wanted.sampling == SamplingParams()
    assert (wanted.max_tokens, wanted.num_choices, wanted.stream, wanted.stop) == (None, 1, False, ())


def test_null_and_unknown_fields_change_nothing() -> None:
    """Clients send ``null`` for everything they do not set, and fields we do not know."""
    names = """
        model temperature top_p n stop max_tokens max_completion_tokens seed stream stream_options tools
        tool_choice response_format logit_bias logprobs top_logprobs user functions audio modalities
    """
    assert chat(**dict.fromkeys(names.split()), store=True, metadata={"a": 1}, whatever=[1]) == chat()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 99),
        ("temperature", "warm"),
        ("temperature", True),
        ("top_p", 1.5),
        ("min_p", -1),
        ("top_k", 1.5),
        ("frequency_penalty", 3),
        ("presence_penalty", -3),
        ("repeat_penalty", 0),
        ("repeat_last_n", -2),
        ("n", 0),
        ("n", 17),
        ("n", True),
        ("seed", 2**63),
        ("seed", "42"),
        ("max_tokens", 0),
        ("max_tokens", -1),
        ("max_tokens", "10"),
        ("max_completion_tokens", 1.5),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", ["a"] * 17),
        ("stop", 5),
        ("stop", {"a": 1}),
        ("stream", "true"),
        ("stream", 1),
        ("stream_options", []),
        ("ignore_eos", "no"),
        ("logit_bias", [1, 2]),
        ("logit_bias", {"x": 1}),
        ("logit_bias", {"1000": 1}),
        ("logit_bias", {"-1": 1}),
        ("logit_bias", {"1": 101}),
        ("logit_bias", {"1": "much"}),
        ("logit_bias", [["hello", 1]]),
        ("logit_bias", [[1, True]]),
        ("chat_template_kwargs", "thinking"),
        ("reasoning_effort", 3),
        ("tools", {}),
    ],
)
def test_wrong_values_name_their_field(field: str, value: object) -> None:
    """A wrong type or range is refused with the field's name."""
    error = fault(**{field: value})
    assert error.param == field
    assert field in error.message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "f"}}),
        ("functions", [{"name": "f"}]),
        ("response_format", {"type": "json_object"}),
        ("response_format", {"type": "json_schema", "json_schema": {}}),
        ("response_format", "json"),
        ("logprobs", True),
        ("top_logprobs", 3),
        ("audio", {"voice": "a"}),
        ("modalities", ["text", "audio"]),
        ("web_search_options", {}),
        ("grammar", "root ::= x"),
        ("guided_json", {"type": "object"}),
        ("min_tokens", 4),
        ("stop_token_ids", [3]),
        ("mirostat", 2),
        ("best_of_consensus", 3),
        ("continue_final_message", True),
    ],
)
def test_what_would_change_the_answer_is_refused(field: str, value: object) -> None:
    """A wish that cannot be granted is never ignored."""
    error = fault(**{field: value})
    assert (error.param, error.code) == (field, "unsupported_parameter")
    assert "not supported in this version" in error.message


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": []},
        {"tools": [{"type": "function"}], "tool_choice": "none"},
        {"tool_choice": "auto"},
        {"response_format": {"type": "text"}},
        {"logprobs": False, "top_logprobs": 0},
        {"modalities": ["text"]},
        {"min_tokens": 0},
        {"mirostat": 0},
        {"stop_token_ids": []},
        {"guided_choice": []},
    ],
)
def test_harmless_values_pass(fields: dict[str, object]) -> None:
    """A value that asks for nothing is no reason to refuse."""
    assert chat(**fields) == chat()


@pytest.mark.parametrize(
    ("field", "value"), [("suffix", "end"), ("logprobs", 0), ("logprobs", 5), ("best_of", 2), ("echo", "yes")]
)
def test_completions_refuse_what_they_cannot_do(field: str, value: object) -> None:
    """The legacy endpoint refuses its own set."""
    with pytest.raises(InvalidRequestError) as caught:
        completion(**{field: value})
    assert caught.value.param == field


def test_completions_accept_harmless_values() -> None:
    """Empty suffix, as many ``best_of`` as ``n``, ``max_tokens`` of 0."""
    wanted = completion(suffix="", best_of=2, n=2, max_tokens=0, logprobs=None)
    assert (wanted.num_choices, wanted.max_tokens) == (2, 0)


def test_max_completion_tokens_wins() -> None:
    """The newer name is the one that counts."""
    assert chat(max_tokens=5, max_completion_tokens=7).max_tokens == 7
    assert chat(max_tokens=5).max_tokens == 5


def test_sampling_fields_arrive() -> None:
    """Every sampling field reaches the engine's parameters."""
    sampling = chat(
        temperature=0,
        top_k=-1,
        top_p=0.5,
        min_p=0.1,
        repetition_penalty=1.2,
        repeat_last_n=-1,
        frequency_penalty=-2,
        presence_penalty=2,
        seed=-(2**63),
        logit_bias={"3": -100, "4": 1.5},
    ).sampling
    assert sampling == SamplingParams(
        temperature=0,
        top_k=0,
        top_p=0.5,
        min_p=0.1,
        repeat_penalty=1.2,
        repeat_last_n=-1,
        frequency_penalty=-2,
        presence_penalty=2,
        seed=-(2**63),
        logit_bias=((3, -100), (4, 1.5)),
    )


def test_two_names_of_one_penalty_must_agree() -> None:
    """``repeat_penalty`` and ``repetition_penalty`` cannot differ."""
    assert chat(repeat_penalty=1.1, repetition_penalty=1.1).sampling.repeat_penalty == 1.1
    assert fault(repeat_penalty=1.1, repetition_penalty=1.2).param == "repetition_penalty"


def test_logit_bias_as_a_list() -> None:
    """llama-server's form: pairs, where ``false`` means never."""
    assert chat(logit_bias=[[5, 2], [6, False]]).sampling.logit_bias == ((5, 2.0), (6, -math.inf))


@pytest.mark.parametrize("stop", ["END", ["END"]])
def test_stop_is_one_or_many(stop: object) -> None:
    """A string is a list of one."""
    assert chat(stop=stop).stop == ("END",)


def test_template_variables() -> None:
    """``chat_template_kwargs`` and its two common names reach the template."""
    prompt = chat(chat_template_kwargs={"a": 1}, enable_thinking=False, reasoning_effort="low").prompts[0]
    assert isinstance(prompt, ChatPrompt)
    assert prompt.template_kwargs == {"a": 1, "enable_thinking": False, "reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("prompt", "parsed"),
    [
        ("a", ("a",)),
        ("", ("",)),
        (["a", ""], ("a", "")),
        ([1, 2], ((1, 2),)),
        ([[1], [2, 3]], ((1,), (2, 3))),
    ],
)
def test_prompt_shapes(prompt: object, parsed: object) -> None:
    """All four shapes of ``prompt`` are read."""
    assert completion(prompt=prompt).prompts == parsed


@pytest.mark.parametrize(
    "prompt",
    [None, [], [[]], 5, {}, [1, "a"], [[1], "a"], [[[1]]], [VOCAB], [-1], [[1], [VOCAB]], [True], [1.5]],
)
def test_wrong_prompts_are_refused(prompt: object) -> None:
    """Missing, empty, mixed, or with ids outside the vocabulary."""
    with pytest.raises(InvalidRequestError) as caught:
        completion(prompt=prompt)
    assert str(caught.value.param).startswith("prompt")


def test_too_many_answers_are_refused() -> None:
    """Prompts times choices is bounded."""
    with pytest.raises(InvalidRequestError, match=f"at most {MAX_SEQUENCES}"):
        completion(prompt=["a"] * 100, n=3)


MESSAGE_FAULTS: list[object] = [
    None,
    [],
    {},
    "hello",
    ["hello"],
    [None],
    [{}],
    [{"content": "x"}],
    [{"role": "wizard", "content": "x"}],
    [{"role": 5, "content": "x"}],
    [{"role": ["user"], "content": "x"}],
    [{"role": "user", "content": 5}],
    [{"role": "user", "content": {"text": "x"}}],
    [{"role": "user", "content": ["x"]}],
    [{"role": "user", "content": [{"type": "text"}]}],
    [{"role": "user", "content": [{"type": "text", "text": None}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}],
    [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}],
    [{"role": "user", "content": "x", "name": 5}],
    [{"role": "assistant", "content": None, "tool_calls": [{}]}],
    [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}],
]


@pytest.mark.parametrize("messages", MESSAGE_FAULTS)
def test_wrong_messages_are_refused(messages: object) -> None:
    """Every fault names where in ``messages`` it is."""
    assert str(fault(messages=messages).param).startswith("messages")


def test_images_are_refused_with_a_reason() -> None:
    """The message says that the model reads text only."""
    error = fault(messages=[{"role": "user", "content": [{"type": "image_url"}]}])
    assert "text only" in error.message
    assert error.param == "messages[0].content[0]"


def test_messages_that_clients_send() -> None:
    """Null content, parts, tool history and every role pass; unknown keys are dropped."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, object]] = [
        {"role": "developer", "content": "d"},
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": "u", "name": "ann", "extra": 1},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "tool_calls": None},
        {"role": "tool", "content": "t", "tool_call_id": "1"},
        {"role": "tool", "content": "t", "tool_call_id": None},
        {"role": "function", "content": "f", "name": "f"},
    ]
    prompt = chat(messages=messages).prompts[0]
    assert isinstance(prompt, ChatPrompt)
    assert [m["role"] for m in prompt.messages] == [m["role"] for m in messages]
    assert prompt.messages[2] == {"role": "user", "content": "u", "name": "ann"}
    assert prompt.messages[3] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert prompt.messages[4]["content"] == [{"type": "text", "text": "no"}]
