"""The engine on the real model: what is generated, when it ends, and whom a fault touches."""

from typing import Any

import numpy as np
import pytest

from reame.engine.core import MAX_PIECES_PER_S
from reame.engine.llama import DecodeStatus
from reame.types import FinishReason, SamplingParams

pytestmark = pytest.mark.model

LOREM = "The quick brown fox jumps over the lazy dog and runs away into the dark forest. "


def test_answers_a_question_and_stops_at_the_end_of_its_turn(make_harness: Any) -> None:
    """A chat turn ends with the model's own end token, which is counted and not shown."""
    harness = make_harness()
    harness.submit(1, "What is the capital of France?", max_tokens=64)
    harness.run()
    finish = harness.last(1).finish
    assert "Paris" in harness.text(1)
    assert "<|im_end|>" not in harness.text(1)
    assert finish.reason is FinishReason.STOP
    assert finish.num_generated_tokens == sum(len(e.ids) for e in harness.events(1))


def test_sequences_run_together_and_each_gets_its_own_answer(make_harness: Any) -> None:
    """Continuous batching mixes nobody's tokens with another's."""
    harness = make_harness()
    for key, country in enumerate(("France", "Italy", "Germany", "Japan", "Spain", "Egypt")):
        harness.submit(key, f"What is the capital of {country}?", max_tokens=24)
    harness.run()
    capitals = ("Paris", "Rome", "Berlin", "Tokyo", "Madrid", "Cairo")
    assert [capital in harness.text(key) for key, capital in enumerate(capitals)] == [True] * 6


def test_max_tokens_is_exact_and_says_length(make_harness: Any) -> None:
    """The budget ends the answer at just that many tokens."""
    harness = make_harness()
    harness.submit(1, "Tell me a long story.", max_tokens=5)
    harness.run()
    assert harness.last(1).finish.reason is FinishReason.LENGTH
    assert harness.last(1).finish.num_generated_tokens == 5


def test_max_tokens_zero_computes_the_prompt_alone(make_harness: Any) -> None:
    """Nothing is generated, and the prompt is counted."""
    harness = make_harness()
    harness.submit(1, "Hello", max_tokens=0)
    harness.run()
    finish = harness.last(1).finish
    assert (harness.text(1), finish.num_generated_tokens) == ("", 0)
    assert finish.num_prompt_tokens == len(harness.ask("Hello"))


def test_stop_string_ends_the_answer_and_is_never_shown(make_harness: Any) -> None:
    """A stop string that spans tokens cuts the text before its first character."""
    harness = make_harness()
    harness.submit(1, "What is the capital of France?", max_tokens=64, stream_interval_s=0.0)
    harness.submit(
        2, "What is the capital of France?", max_tokens=64, stream_interval_s=0.0, stop=("f France is P",)
    )
    harness.run()
    whole = harness.text(1)
    assert "f France is P" in whole
    assert harness.text(2) == whole[: whole.index("f France is P")]
    assert harness.last(2).finish.reason is FinishReason.STOP


def test_ignore_eos_goes_on_to_the_budget(make_harness: Any) -> None:
    """End tokens are ruled out, not merely ignored."""
    harness = make_harness()
    harness.submit(1, "What is the capital of France?", max_tokens=40, ignore_eos=True)
    harness.run()
    assert harness.last(1).finish.num_generated_tokens == 40
    assert "<|im_end|>" not in harness.text(1)


def test_streamed_pieces_are_the_whole_text(make_harness: Any) -> None:
    """Pieces join to just what the unstreamed request gets."""
    harness = make_harness()
    harness.submit(1, "Count from one to ten.", max_tokens=40, stream_interval_s=0.0)
    harness.run()
    harness.submit(2, "Count from one to ten.", max_tokens=40)
    harness.run()
    assert len(harness.events(1)) > 3
    assert len(harness.events(2)) == 1
    assert harness.text(1) == harness.text(2)


def test_same_seed_same_text_other_seed_other_text(make_harness: Any) -> None:
    """Sampling is repeatable by its seed."""
    harness = make_harness()
    hot = {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    for key, seed in ((1, 7), (2, 7), (3, 8)):
        harness.submit(key, "Write a poem.", max_tokens=24, sampling=SamplingParams(**hot, seed=seed))
        harness.run()
    assert harness.text(1) == harness.text(2) != harness.text(3)


def test_without_a_seed_answers_vary(make_harness: Any) -> None:
    """No hidden fixed seed: equal requests differ."""
    harness = make_harness()
    for key in range(4):
        harness.submit(key, "Write a poem.", max_tokens=16, sampling=SamplingParams(temperature=1.5, top_k=0))
    harness.run()
    assert len({harness.text(key) for key in range(4)}) > 1


def test_logit_bias_forces_and_forbids(make_harness: Any) -> None:
    """A bias of 100 makes a token certain; -100 keeps it away."""
    harness = make_harness()
    (token,) = harness.ids(" dog")
    harness.submit(
        1,
        "Say something.",
        max_tokens=6,
        sampling=SamplingParams(temperature=0, logit_bias=((token, 100.0),)),
    )
    paris = harness.ids(" Paris")[0]
    harness.submit(
        2,
        "What is the capital of France?",
        max_tokens=24,
        sampling=SamplingParams(temperature=0, logit_bias=((paris, -100.0),)),
    )
    harness.run()
    assert harness.text(1) == " dog" * 6
    assert " Paris" not in harness.text(2)


@pytest.mark.parametrize(
    "penalty", [{"frequency_penalty": 2.0}, {"presence_penalty": 2.0}, {"repeat_penalty": 1.5}]
)
def test_penalties_move_away_from_repeated_tokens(make_harness: Any, penalty: dict[str, float]) -> None:
    """Each penalty makes the answer use more different tokens than none does."""
    harness = make_harness()
    prompt = harness.ids("dog dog dog dog dog dog dog dog")
    harness.submit(1, prompt, max_tokens=24, ignore_eos=True)
    harness.submit(
        2, prompt, max_tokens=24, ignore_eos=True, sampling=SamplingParams(temperature=0, **penalty)
    )
    harness.run()
    plain, penalised = (len({t for e in harness.events(key) for t in e.ids}) for key in (1, 2))
    assert penalised > plain


@pytest.mark.parametrize("num_tokens", [65, 200, 448, 700])
def test_prefill_is_the_same_bit_for_bit_however_it_is_chunked(make_harness: Any, num_tokens: int) -> None:
    """Chunks of any multiple of a block give equal logits when the sequence is alone."""
    rows = []
    for batch_tokens in (64, 128, 512):
        harness = make_harness(batch_tokens=batch_tokens)
        seen: list[np.ndarray[Any, Any]] = []
        logits = harness.context.logits
        harness.context.logits = lambda row, seen=seen, logits=logits: (
            seen.append(logits(row).copy()) or logits(row)
        )
        harness.submit(1, (harness.ids(LOREM) * 50)[:num_tokens], max_tokens=1)
        harness.run()
        rows.append(seen[0])
    assert all(np.array_equal(rows[0], other) for other in rows[1:])


def test_streams_go_on_beside_a_long_prompt(make_harness: Any) -> None:
    """Every step that computes a piece of a long prompt gives each running stream its token."""
    harness = make_harness()
    for key in (1, 2, 3):
        harness.submit(key, "Tell me a long story.", max_tokens=200, ignore_eos=True)
    while any(s.num_generated < 1 for s in harness.engine.scheduler.running) or harness.engine.num_waiting:
        harness.step()
    harness.submit(4, (harness.ids(LOREM) * 100)[:1200], max_tokens=1)
    streams = list(harness.engine.scheduler.running)
    while not harness.news[4]:
        before = [s.num_generated for s in streams]
        harness.step()
        assert [s.num_generated for s in streams] == [n + 1 for n in before]


def test_sequences_that_outgrow_the_cells_all_finish(make_harness: Any) -> None:
    """Preempted sequences come back and get every token they asked for."""
    harness = make_harness(context_length=512)
    for key in range(3):
        harness.submit(key, (harness.ids(LOREM) * 20)[: 150 + key], max_tokens=150, ignore_eos=True)
    harness.run()
    assert [harness.last(key).finish.num_generated_tokens for key in range(3)] == [150] * 3


def test_a_cancelled_sequence_frees_its_slot_at_once(make_harness: Any) -> None:
    """After a cancel, during prefill, decode or the wait, nothing is held."""
    harness = make_harness(num_slots=1)
    harness.submit(1, (harness.ids(LOREM) * 100)[:1500])
    harness.submit(2, "Hello")
    harness.step()
    for key in (1, 2):
        harness.engine.interrupt(key)
        harness.engine.cancel(key)
    assert not harness.engine.has_work
    assert harness.context.position_end(0) == 0
    harness.submit(3, "What is the capital of France?")
    harness.run()
    assert "Paris" in harness.text(3)


def test_cancelling_twice_or_after_the_end_does_no_harm(make_harness: Any) -> None:
    """A cancel may cross the last event on its way."""
    harness = make_harness()
    harness.submit(1, "Hello", max_tokens=2)
    harness.run()
    harness.engine.interrupt(1)
    harness.engine.cancel(1)
    harness.engine.cancel(1)
    harness.submit(2, "What is the capital of France?")
    harness.run()
    assert "Paris" in harness.text(2)


class FaultyDecode:
    """Stands before the real decode and answers for it when asked to."""

    def __init__(self, harness: Any, decide: Any) -> None:
        self._real, self._decide, self._harness = harness.context.decode, decide, harness
        self.num_faults = 0
        harness.context.decode = self

    def __call__(self) -> DecodeStatus:
        keys = self._harness.engine._in_batch
        status = self._decide(keys, self.num_faults)
        if status is None:
            return self._real()
        self.num_faults += 1
        return status


@pytest.mark.parametrize("status", [DecodeStatus.FAILED, DecodeStatus.ABORTED, DecodeStatus.NO_SPACE])
def test_a_passing_decode_fault_costs_nobody_an_answer(make_harness: Any, status: DecodeStatus) -> None:
    """After a fault that does not come again, all sequences finish with full answers."""
    harness = make_harness()
    fault = FaultyDecode(harness, lambda keys, n: status if len(keys) == 3 and n == 0 else None)
    for key, country in enumerate(("France", "Italy", "Germany")):
        harness.submit(key, f"What is the capital of {country}?", max_tokens=24)
    harness.run()
    assert fault.num_faults == 1
    assert ["Paris" in harness.text(0), "Rome" in harness.text(1), "Berlin" in harness.text(2)] == [True] * 3


def test_a_sequence_that_cannot_be_computed_fails_alone(make_harness: Any) -> None:
    """The culprit of a failing batch is found and ended; the others answer."""
    harness = make_harness()
    FaultyDecode(harness, lambda keys, n: DecodeStatus.FAILED if 1 in keys else None)
    for key, country in enumerate(("France", "Italy", "Germany")):
        harness.submit(key, f"What is the capital of {country}?", max_tokens=24)
    harness.run()
    assert "Paris" in harness.text(0)
    assert "Berlin" in harness.text(2)
    assert "could not compute" in harness.failure(1)


def test_no_space_for_a_single_sequence_is_its_error(make_harness: Any) -> None:
    """With nobody to give way the request ends with a reason, and the engine goes on."""
    harness = make_harness()
    fault = FaultyDecode(harness, lambda keys, n: DecodeStatus.NO_SPACE if n == 0 else None)
    harness.submit(1, "Hello")
    harness.run()
    assert "no free KV cells" in harness.failure(1)
    harness.submit(2, "What is the capital of France?")
    harness.run()
    assert fault.num_faults == 1
    assert "Paris" in harness.text(2)


def test_logits_that_are_no_numbers_fail_their_sequence_alone(make_harness: Any) -> None:
    """NaN never becomes a token."""
    harness = make_harness()
    logits = harness.context.logits

    def poisoned(row: int) -> Any:
        view = logits(row)
        if harness.engine.scheduler.running and row == 0:
            view[:] = np.nan
        return view

    harness.submit(1, "Hello", max_tokens=50, ignore_eos=True)
    harness.submit(2, "What is the capital of France?", max_tokens=24)
    for _ in range(2):
        harness.step()
    harness.context.logits = poisoned
    harness.step()
    harness.context.logits = logits
    harness.run()
    assert "finite" in harness.failure(1)
    assert "Paris" in harness.text(2)


def test_a_request_that_cannot_be_set_up_is_refused_alone(
    make_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault while a request is taken in ends that request, not the process."""
    harness = make_harness()
    with monkeypatch.context() as patch:
        patch.setattr("reame.engine.llama.sampler._choosers", lambda params: [None])
        harness.submit(1, "Hello", sampling=SamplingParams(temperature=1.0))
    harness.submit(2, "What is the capital of France?")
    harness.run()
    assert "refuses" in harness.failure(1)
    assert "Paris" in harness.text(2)


def test_many_streams_get_fewer_and_longer_pieces(make_harness: Any) -> None:
    """Together the streams never send more than the engine's share of pieces a second."""
    harness = make_harness()
    now_s = [0.0]
    harness.engine._clock = lambda: now_s[0]
    for key in range(4):
        harness.submit(key, "Tell me a long story.", max_tokens=60, ignore_eos=True, stream_interval_s=0.001)
    while harness.engine.has_work:
        now_s[0] += 0.01
        harness.step()
    pieces = sum(len(harness.events(key)) for key in range(4))
    assert pieces <= now_s[0] * MAX_PIECES_PER_S + 2 * 4
    assert pieces > 20


def test_times_and_counts_of_a_finished_request_add_up(make_harness: Any) -> None:
    """The timings speak of this request's own waiting, prefill and decode."""
    harness = make_harness(num_slots=1)
    harness.submit(1, "Hello", max_tokens=8, ignore_eos=True)
    harness.submit(2, "Hello", max_tokens=8, ignore_eos=True)
    harness.run()
    first, second = (harness.last(key).finish.timings for key in (1, 2))
    assert first.predicted_n == second.predicted_n == 8
    assert second.queue_ms > first.prompt_ms + 0.5 * first.predicted_ms > 0
