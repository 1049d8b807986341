"""From wishes to sequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.api.fields import Fields
from reame.api.plan import Plan, encode_prompts, plan
from reame.api.wanted import parse_completion
from reame.errors import ContextLengthError, InvalidRequestError
from reame.prompt import EncodedPrompt

from .fakes import BOS, VOCAB, FakeEncoder


def planned(*prompts: EncodedPrompt, context_length: int = 20, **fields: object) -> Plan:
    wanted = parse_completion(Fields({"prompt": [p.text for p in prompts], **fields}), VOCAB)
    return plan(wanted, prompts, answer_id="cmpl-1", context_length=context_length, stream_interval_s=0.04)


ABC = EncodedPrompt("abc", (97, 98, 99))
DE = EncodedPrompt("de", (100, 101))


def test_choices_are_prompt_major() -> None:
    """Index is prompt times ``n`` plus choice; a prompt's tokens count once."""
    made = planned(ABC, DE, n=2)
    assert made.prompt_texts == ("abc", "abc", "de", "de")
    assert [r.request_id for r in made.requests] == ["cmpl-1-0", "cmpl-1-1", "cmpl-1-2", "cmpl-1-3"]
    assert made.num_prompt_tokens == 5


def test_a_single_sequence_has_the_answers_id() -> None:
    """Nothing is appended where there is one."""
    assert planned(ABC).requests[0].request_id == "cmpl-1"


def test_each_choice_has_its_own_seed() -> None:
    """Seeds count up within a prompt; no seed stays none."""
    assert [r.sampling.seed for r in planned(ABC, DE, n=2, seed=7).requests] == [7, 8, 7, 8]
    assert [r.sampling.seed for r in planned(ABC, n=2).requests] == [None, None]
    assert planned(ABC, n=2, seed=2**63 - 1).requests[1].sampling.seed == -(2**63)


def test_only_streams_are_sent_in_pieces() -> None:
    """An answer that is not streamed comes with the last event."""
    assert planned(ABC).requests[0].stream_interval_s is None
    assert planned(ABC, stream=True).requests[0].stream_interval_s == 0.04


@given(st.integers(1, 30), st.none() | st.integers(0, 30))
def test_prompt_and_answer_fit_the_context(num_prompt_tokens: int, max_tokens: int | None) -> None:
    """Either they fit, and the answer may use what was asked or all that is left, or it is an error."""
    prompt = EncodedPrompt("x", (120,) * num_prompt_tokens)
    fits = num_prompt_tokens + (1 if max_tokens is None else max_tokens) <= 20
    if not fits:
        with pytest.raises(ContextLengthError):
            planned(prompt, max_tokens=max_tokens)
        return
    made = planned(prompt, max_tokens=max_tokens).requests[0].max_tokens
    assert made == (20 - num_prompt_tokens if max_tokens is None else max_tokens)


async def test_an_empty_prompt_starts_from_bos() -> None:
    """A model with a BOS begins there; one without cannot begin."""
    wanted = parse_completion(Fields({"prompt": ""}), VOCAB)
    encoder = FakeEncoder(adds_bos=False)
    assert (await encode_prompts(wanted, encoder))[0].ids == (BOS,)
    encoder.tokenizer.bos_id = None
    with pytest.raises(InvalidRequestError, match="prompt is empty"):
        await encode_prompts(wanted, encoder)
