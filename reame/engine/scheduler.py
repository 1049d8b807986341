"""Which tokens the next step computes. Pure: no clock, no llama.cpp.

Decodes come first, one token each; prefill chunks fill the rest of the step's budget. Waiting
sequences are admitted in order of arrival while a slot and KV cells are free. When the cells
run out, the youngest running sequence gives its cells back, keeps its tokens, and waits at the
front of the queue to be computed again; the oldest always goes on, so every step makes progress.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from reame.blocks import BLOCK_TOKENS, floor_to_block
from reame.engine.sequence import Phase, Sequence
from reame.errors import EngineError

ADMISSION_HEADROOM_TOKENS = 64
"""Cells kept for an answer's beginning when a sequence is admitted."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """``num_tokens`` of a sequence from ``begin`` on; ``needs_logits`` when they end its ids."""

    sequence: Sequence
    begin: int
    num_tokens: int
    needs_logits: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """One step: what to compute, and who had to give back the slot it held."""

    chunks: tuple[Chunk, ...]
    preempted: tuple[tuple[Sequence, int], ...] = ()

    @property
    def num_prefill_tokens(self) -> int:
        """Tokens of chunks that are not single decodes."""
        return sum(c.num_tokens for c in self.chunks if c.num_tokens > 1)

    @property
    def num_decodes(self) -> int:
        """Chunks of one token."""
        return sum(1 for c in self.chunks if c.num_tokens == 1)


class Scheduler:
    """Owns slots, cells and the two queues of one engine."""

    def __init__(self, *, num_slots: int, num_cells: int, batch_tokens: int) -> None:
        self.num_cells = num_cells
        self.batch_tokens = batch_tokens
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self._free_slots = list(range(num_slots))[::-1]
        self._num_slots = num_slots

    @property
    def has_work(self) -> bool:
        """Whether a step would compute anything."""
        return bool(self.waiting or self.running)

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. It must fit the context by itself."""
        if sequence.max_length > self.num_cells:
            raise ValueError(f"{sequence.max_length} tokens can never fit {self.num_cells} cells")
        self.waiting.append(sequence)

    def end(self, sequence: Sequence) -> int | None:
        """Take a sequence out, wherever it stands; return the slot it held, to be cleared."""
        slot = sequence.slot
        if sequence.phase is Phase.RUNNING:
            self.running.remove(sequence)
            self._release(sequence)
        elif sequence.phase is Phase.WAITING:
            self.waiting.remove(sequence)
        sequence.phase = Phase.ENDED
        return slot

    def next_batch(self, *, mixed_budget: int) -> Plan:
        """Admit, make room, and choose the next step's chunks.

        ``mixed_budget`` is the most prefill tokens of a step in which others decode.
        """
        preempted = self._make_room()
        self._admit()
        return Plan(tuple(self._chunks(mixed_budget)), preempted)

    def preempt_youngest(self) -> tuple[Sequence, int] | None:
        """Give back the youngest running sequence's cells; ``None`` when only one runs."""
        if len(self.running) < 2:
            return None
        return self._preempt(self.running[-1])

    def requeue(self, sequence: Sequence) -> int:
        """Give back one running sequence's cells, its tokens kept; return its slot, to be cleared."""
        return self._preempt(sequence)[1]

    def _preempt(self, sequence: Sequence) -> tuple[Sequence, int]:
        slot = sequence.slot
        if slot is None:
            raise ValueError("only a running sequence can be preempted")
        self.running.remove(sequence)
        self._release(sequence)
        sequence.phase = Phase.WAITING
        self.waiting.appendleft(sequence)
        return sequence, slot

    def _release(self, sequence: Sequence) -> None:
        if sequence.slot is not None:
            self._free_slots.append(sequence.slot)
        sequence.slot = None
        sequence.num_computed = 0

    def _cells_reserved(self) -> int:
        return sum(len(s.ids) for s in self.running)

    def _make_room(self) -> tuple[tuple[Sequence, int], ...]:
        preempted: list[tuple[Sequence, int]] = []
        while self._cells_reserved() > self.num_cells:
            victim = self.preempt_youngest()
            if victim is None:
                raise ValueError("one sequence outgrew the context")
            preempted.append(victim)
        return tuple(preempted)

    def _admit(self) -> None:
        while self.waiting and self._free_slots and self._fits(self.waiting[0]):
            sequence = self.waiting.popleft()
            sequence.slot = self._free_slots.pop()
            sequence.phase = Phase.RUNNING
            sequence.begin_prefill()
            self.running.append(sequence)

    def _fits(self, sequence: Sequence) -> bool:
        left = sequence.max_length - len(sequence.ids)
        needed = len(sequence.ids) + min(left, ADMISSION_HEADROOM_TOKENS)
        return self._cells_reserved() + needed <= self.num_cells

    def _chunks(self, mixed_budget: int) -> Iterator[Chunk]:
        suspect = next((s for s in self.running if s.is_suspect), None)
        if suspect is not None:
            yield self._chunk(suspect, self.batch_tokens)
            return
        decodes = [s for s in self.running if s.num_pending == 1 and s.num_computed]
        for sequence in decodes:
            yield Chunk(sequence, sequence.num_computed, 1, needs_logits=True)
        yield from self._prefill_chunks(decodes, mixed_budget)

    def _prefill_chunks(self, decodes: list[Sequence], mixed_budget: int) -> Iterator[Chunk]:
        budget = min(mixed_budget, self.batch_tokens - len(decodes)) if decodes else self.batch_tokens
        budget = max(BLOCK_TOKENS, floor_to_block(budget))
        for sequence in self.running:
            if sequence in decodes:
                continue
            if budget < BLOCK_TOKENS:
                return
            chunk = self._chunk(sequence, budget)
            budget -= max(chunk.num_tokens, BLOCK_TOKENS) if chunk.needs_logits else chunk.num_tokens
            yield chunk

    @staticmethod
    def _chunk(sequence: Sequence, budget: int) -> Chunk:
        """Whole blocks up to ``budget``, or the tail of at most one block on its own."""
        begin = sequence.num_computed
        whole = sequence.prefill_end - begin
        if whole > 0:
            return Chunk(sequence, begin, min(whole, floor_to_block(budget)), needs_logits=False)
        return Chunk(sequence, begin, sequence.num_pending, needs_logits=True)

    def check_integrity(self) -> None:
        """Audit the books: every slot has one owner, every cell is paid for.

        Raises:
            EngineError: naming what does not add up.
        """
        owned = [s.slot for s in self.running]
        slots = sorted(slot for slot in [*owned, *self._free_slots] if slot is not None)
        _require(slots == list(range(self._num_slots)), f"slots {slots} of {self._num_slots}")
        _require(all(s.phase is Phase.RUNNING for s in self.running), "a stopped sequence runs")
        _require(all(s.phase is Phase.WAITING for s in self.waiting), "a started sequence waits")
        _require(all(s.slot is None for s in self.waiting), "a waiting sequence holds a slot")
        _require(all(s.num_pending >= 1 for s in self.running), "a sequence has nothing to compute")
        computed = sum(s.num_computed for s in self.running)
        _require(computed <= self.num_cells, f"{computed} computed tokens in {self.num_cells} cells")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise EngineError(f"the scheduler's books are wrong: {message}")
