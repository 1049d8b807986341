"""The scheduler, without llama.cpp: who runs, what a step computes, who gives way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reame.blocks import BLOCK_TOKENS
from reame.engine.scheduler import Plan, Scheduler
from reame.engine.sequence import Phase, Sequence
from reame.types import GenerateRequest


def sequence(key: int, num_prompt: int, max_tokens: int = 16) -> Sequence:
    request = GenerateRequest(f"r{key}", tuple(range(num_prompt)), max_tokens)
    return Sequence(key, request, arrived_s=0.0)


def scheduler(*, num_slots: int = 4, num_cells: int = 4096, batch_tokens: int = 512) -> Scheduler:
    return Scheduler(num_slots=num_slots, num_cells=num_cells, batch_tokens=batch_tokens)


def compute(plan: Plan) -> None:
    """What the engine does with a plan: the chunks become KV, finished ones get a token."""
    for chunk in plan.chunks:
        chunk.sequence.num_computed += chunk.num_tokens
        chunk.sequence.is_suspect = False
        if chunk.needs_logits:
            chunk.sequence.ids.append(7)


def step(books: Scheduler, mixed_budget: int = 128) -> Plan:
    plan = books.next_batch(mixed_budget=mixed_budget)
    compute(plan)
    return plan


def test_prompt_alone_is_cut_at_blocks_and_its_tail_runs_apart() -> None:
    """Chunks are multiples of a block, and the last partial block is a chunk of its own."""
    books = scheduler()
    books.add(sequence(1, 1100))
    sizes = [step(books).chunks[0].num_tokens for _ in range(4)]
    assert sizes == [512, 512, 64, 12]


def test_prompt_of_whole_blocks_keeps_its_last_block_for_the_tail() -> None:
    """The last token's logits start the answer, so its block is the tail."""
    books = scheduler()
    books.add(sequence(1, 128))
    assert [step(books).chunks[0].num_tokens for _ in range(2)] == [64, 64]


def test_decodes_come_first_and_prefill_keeps_to_the_mixed_budget() -> None:
    """A long prompt beside running streams gets only the budget that keeps them moving."""
    books = scheduler()
    books.add(sequence(1, 10, max_tokens=100))
    step(books)
    books.add(sequence(2, 2000))
    plan = step(books, mixed_budget=128)
    assert [(c.sequence.key, c.num_tokens) for c in plan.chunks] == [(1, 1), (2, 128)]


def test_waiting_requests_are_admitted_in_order_of_arrival() -> None:
    """Slots go to the head of the queue, also past a short one that would fit."""
    books = scheduler(num_slots=3, num_cells=900)
    for key, size in ((1, 500), (2, 480), (3, 10)):
        books.add(sequence(key, size))
    step(books)
    assert [s.key for s in books.running] == [1]
    assert [s.key for s in books.waiting] == [2, 3]


def test_the_youngest_gives_way_when_cells_run_out_and_keeps_its_tokens() -> None:
    """Preemption loses no token: they wait at the front and are computed again."""
    books = scheduler(num_slots=2, num_cells=512)
    for key in (1, 2):
        books.add(sequence(key, 190, max_tokens=300))
    preempted: list[int] = []
    for _ in range(200):
        plan = step(books)
        books.check_integrity()
        preempted += [s.key for s, _ in plan.preempted]
        if preempted:
            break
    assert preempted == [2]
    assert books.waiting[0].key == 2
    assert books.waiting[0].num_generated > 0
    assert books.waiting[0].num_computed == 0


def test_a_suspect_runs_alone() -> None:
    """After a failed batch each of its sequences is tried by itself."""
    books = scheduler()
    for key in (1, 2):
        books.add(sequence(key, 10))
    step(books)
    books.running[1].is_suspect = True
    assert [c.sequence.key for c in step(books).chunks] == [2]
    assert len(step(books).chunks) == 2


def test_a_sequence_that_can_never_fit_is_refused() -> None:
    """What exceeds the context by itself does not enter the queue."""
    with pytest.raises(ValueError, match="can never fit"):
        scheduler(num_cells=512).add(sequence(1, 500, max_tokens=13))


def test_ending_a_waiting_sequence_frees_its_place() -> None:
    """Cancelled while queued: gone from the queue, no slot to clear."""
    books = scheduler(num_slots=1)
    first, second = sequence(1, 10), sequence(2, 10)
    books.add(first)
    books.add(second)
    step(books)
    assert books.end(second) is None
    assert books.end(first) is not None
    assert not books.has_work


class Life(RuleBasedStateMachine):
    """Any order of arrivals, cancels, faults and steps keeps the books right and everybody moving."""

    def __init__(self) -> None:
        super().__init__()
        self.books = scheduler(num_slots=3, num_cells=1024, batch_tokens=256)
        self.keys = 0
        self.alive: dict[int, Sequence] = {}

    @rule(num_prompt=st.integers(1, 900), max_tokens=st.integers(0, 124))
    def arrive(self, num_prompt: int, max_tokens: int) -> None:
        self.keys += 1
        one = sequence(self.keys, num_prompt, max_tokens)
        self.books.add(one)
        self.alive[one.key] = one

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.alive)))
        self.books.end(self.alive.pop(key))

    @precondition(lambda self: self.books.running)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.books.running)).is_suspect = True

    @rule(budget=st.sampled_from([64, 128, 256]))
    def step(self, budget: int) -> None:
        before = {key: (len(s.ids), s.num_computed) for key, s in self.alive.items()}
        plan = self.books.next_batch(mixed_budget=budget)
        assert sum(c.num_tokens for c in plan.chunks) <= 256 + 3
        assert len({c.sequence.key for c in plan.chunks}) == len(plan.chunks)
        for chunk in plan.chunks:
            assert chunk.begin == chunk.sequence.num_computed
            assert chunk.num_tokens % BLOCK_TOKENS == 0 or chunk.needs_logits
            assert chunk.needs_logits == (chunk.begin + chunk.num_tokens == len(chunk.sequence.ids))
        compute(plan)
        for key, one in list(self.alive.items()):
            assert len(one.ids) >= before[key][0], "a token was lost"
            if one.num_generated >= max(1, one.request.max_tokens):
                self.books.end(self.alive.pop(key))

    @invariant()
    def books_are_right(self) -> None:
        self.books.check_integrity()
        assert {s.key for s in (*self.books.running, *self.books.waiting)} == set(self.alive)

    def teardown(self) -> None:
        for _ in range(4000):
            if not self.alive:
                break
            self.step(128)
        assert not self.alive, "somebody starved"
        assert all(s.phase is not Phase.ENDED for s in self.alive.values())


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.integers(1, 600), min_size=1, max_size=12), st.sampled_from([64, 128, 512]))
@settings(max_examples=50, deadline=None)
def test_everybody_finishes(prompts: list[int], budget: int) -> None:
    """Whatever arrives together, each gets all its tokens within a bounded number of steps."""
    books = scheduler(num_slots=3, num_cells=1024, batch_tokens=512)
    everyone = [sequence(key, size, max_tokens=8) for key, size in enumerate(prompts)]
    for one in everyone:
        books.add(one)
    for _ in range(len(prompts) * 60):
        step(books, budget)
        for one in list(books.running):
            if one.num_generated >= 8:
                books.end(one)
    assert all(one.num_generated == 8 for one in everyone)
