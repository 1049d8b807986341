"""The engine: schedule, compute, sample, tell. One thread owns it; no sockets, no processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from reame.blocks import BLOCK_TOKENS, floor_to_block
from reame.engine.live import Live
from reame.engine.llama import Context, DecodeStatus, Model, Sampler
from reame.engine.options import EngineOptions
from reame.engine.scheduler import Chunk, Plan, Scheduler
from reame.engine.sequence import Sequence
from reame.engine.wire import Event, Failed
from reame.errors import EngineError
from reame.prompt import TextStream
from reame.types import FinishReason, GenerateRequest, TokenId

logger = logging.getLogger("reame.engine")

MAX_PIECES_PER_S = 75.0
"""Pieces of text that leave one engine a second. On the way to the client each costs a CPU some
two milliseconds that the decode threads want, so many streams get fewer, longer pieces."""


@dataclass(slots=True)
class StepClock:
    """Seconds since the engine began, split by who spent them."""

    llama_s: float = 0.0
    total_s: float = 0.0
    num_steps: int = 0


class Engine:
    """Serves sequences from one context, many at once."""

    def __init__(
        self,
        model: Model,
        context: Context,
        options: EngineOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._context = context
        self._clock = clock
        self._mixed_step_s = options.mixed_step_s
        self._batch_tokens = options.batch_tokens
        self._piece = _piece_table(model)
        self._live: dict[int, Live] = {}
        self._prefill_tps: float | None = None
        self._in_batch: frozenset[int] = frozenset()
        self._cancelled: set[int] = set()
        self.times = StepClock()
        self.scheduler = Scheduler(
            num_slots=options.num_slots, num_cells=context.context_length, batch_tokens=options.batch_tokens
        )

    @property
    def has_work(self) -> bool:
        """Whether :meth:`step` would compute anything."""
        return self.scheduler.has_work

    @property
    def num_running(self) -> int:
        """Sequences that hold a slot."""
        return len(self.scheduler.running)

    @property
    def num_waiting(self) -> int:
        """Sequences queued for a slot."""
        return len(self.scheduler.waiting)

    def submit(self, key: int, request: GenerateRequest) -> Failed | None:
        """Queue one sequence under ``key``; say why when it cannot be taken."""
        sequence = Sequence(key, request, arrived_s=self._clock())
        try:
            live = Live(sequence, self._sampler(request), TextStream(self._piece, request.stop))
            self.scheduler.add(sequence)
        except Exception as error:  # one request's fault must not end the others
            logger.exception("request %s could not be taken", request.request_id)
            return Failed(key, str(error))
        self._live[key] = live
        return None

    def _sampler(self, request: GenerateRequest) -> Sampler:
        return Sampler(
            self._model,
            request.sampling,
            prompt=request.prompt_ids,
            context_length=self._context.context_length,
            banned=tuple(self._model.eog_ids) if request.ignore_eos else (),
        )

    def interrupt(self, key: int) -> None:
        """Note that ``key``'s client is gone; end the running decode if it serves nobody else.

        The one method that another thread may call. :meth:`cancel` must follow on the owner's.
        """
        self._cancelled.add(key)
        if self._in_batch and self._in_batch <= self._cancelled:
            self._context.abort()

    def cancel(self, key: int) -> None:
        """Free what ``key`` holds; unknown keys have ended already."""
        if key in self._live:
            self._end(self._live[key])
        self._cancelled.discard(key)

    def step(self) -> list[Event | Failed]:
        """Compute one batch; return the news that its sequences' clients should hear."""
        began_s = self._clock()
        plan = self.scheduler.next_batch(mixed_budget=self._mixed_budget())
        for _, slot in plan.preempted:
            self._context.remove(slot)
        rows = self._fill(plan)
        status = self._decode(plan)
        news = self._collect(plan, rows) if status is DecodeStatus.DONE else self._recover(plan, status)
        self.times.total_s += self._clock() - began_s
        self.times.num_steps += 1
        return news

    def _fill(self, plan: Plan) -> list[int]:
        batch = self._context.batch
        batch.clear()
        rows = []
        for chunk in plan.chunks:
            sequence, end = chunk.sequence, chunk.begin + chunk.num_tokens
            if sequence.admitted_s is None:
                sequence.admitted_s = self._clock()
            if sequence.slot is None:
                raise ValueError("a planned sequence holds no slot")
            rows.append(
                batch.add(
                    sequence.slot, sequence.ids[chunk.begin : end], chunk.begin, output=chunk.needs_logits
                )
            )
        return rows

    def _decode(self, plan: Plan) -> DecodeStatus:
        self._context.clear_abort()
        self._in_batch = frozenset(c.sequence.key for c in plan.chunks)
        began_s = self._clock()
        status = self._context.decode()
        took_s = self._clock() - began_s
        self._in_batch = frozenset()
        self.times.llama_s += took_s
        if status is DecodeStatus.DONE:
            self._learn_speed(plan, took_s)
        return status

    def _learn_speed(self, plan: Plan, took_s: float) -> None:
        if plan.num_prefill_tokens < BLOCK_TOKENS or took_s <= 0:
            return
        now = (plan.num_prefill_tokens + plan.num_decodes) / took_s
        self._prefill_tps = now if self._prefill_tps is None else 0.7 * self._prefill_tps + 0.3 * now

    def _mixed_budget(self) -> int:
        """Prefill tokens that keep a step with decodes under its time limit: whole blocks, at least one."""
        if self._prefill_tps is None:
            return BLOCK_TOKENS
        wanted = floor_to_block(int(self._prefill_tps * self._mixed_step_s))
        return max(BLOCK_TOKENS, min(wanted, self._batch_tokens))

    def _collect(self, plan: Plan, rows: list[int]) -> list[Event | Failed]:
        news: list[Event | Failed] = []
        for chunk, row in zip(plan.chunks, rows, strict=True):
            sequence = chunk.sequence
            sequence.num_computed += chunk.num_tokens
            sequence.is_suspect = False
            if chunk.needs_logits:
                live = self._live[sequence.key]
                event: Event | Failed | None
                try:
                    event = self._advance(live, row)
                except Exception as error:  # one sequence's fault must not end the others
                    logger.exception("sequence %s failed", sequence.request.request_id)
                    event = self._fail(live, str(error))
                if event is not None:
                    news.append(event)
        return news

    def _advance(self, live: Live, row: int) -> Event | None:
        """Draw the next token of one sequence and take in what it means."""
        sequence, now_s = live.sequence, self._clock()
        if sequence.first_token_s is None:
            sequence.first_token_s = now_s
        if sequence.request.max_tokens == 0:
            return self._finish(live, FinishReason.LENGTH, now_s)
        token = live.sampler.sample(self._context, row)
        reason = live.take(token, is_end=token in self._model.eog_ids)
        if reason is not None:
            return self._finish(live, reason, now_s)
        return live.piece_due(now_s, least_interval_s=self.num_running / MAX_PIECES_PER_S)

    def _finish(self, live: Live, reason: FinishReason, now_s: float) -> Event:
        event = live.last_event(reason, now_s)
        self._end(live)
        return event

    def _fail(self, live: Live, message: str) -> Failed:
        self._end(live)
        return Failed(live.sequence.key, message)

    def _end(self, live: Live) -> None:
        slot = self.scheduler.end(live.sequence)
        if slot is not None:
            self._context.remove(slot)
        live.sampler.close()
        del self._live[live.sequence.key]

    def _recover(self, plan: Plan, status: DecodeStatus) -> list[Event | Failed]:
        """After a decode that did not finish: nothing counted as computed, the culprit found."""
        if status is DecodeStatus.NO_SPACE:
            return self._give_way(plan)
        for chunk in plan.chunks:
            self._roll_back(chunk)
        if status is DecodeStatus.ABORTED:
            return []
        if len(plan.chunks) == 1:
            live = self._live[plan.chunks[0].sequence.key]
            return [self._fail(live, "llama.cpp could not compute this sequence")]
        for chunk in plan.chunks:
            chunk.sequence.is_suspect = True
        return []

    def _give_way(self, plan: Plan) -> list[Event | Failed]:
        """llama.cpp found no free cells though the books had some: one fewer sequence, or an error."""
        victim = self.scheduler.preempt_youngest()
        if victim is not None:
            self._context.remove(victim[1])
            return []
        live = self._live[plan.chunks[0].sequence.key]
        return [self._fail(live, "no free KV cells for this sequence")]

    def _roll_back(self, chunk: Chunk) -> None:
        """Drop the rows of ``chunk`` from its slot; all of the slot where it cannot be cut."""
        sequence, slot = chunk.sequence, chunk.sequence.slot
        if slot is None:
            return
        if self._context.remove(slot, chunk.begin) and self._context.position_end(slot) == chunk.begin:
            return
        self._context.remove(slot)
        self.scheduler.requeue(sequence)

    def check_integrity(self) -> None:
        """Audit the books against llama.cpp's: every slot holds just what was computed.

        Raises:
            EngineError: naming the slot that does not.
        """
        self.scheduler.check_integrity()
        for sequence in self.scheduler.running:
            held = self._context.position_end(sequence.slot) if sequence.slot is not None else 0
            if held != sequence.num_computed:
                raise EngineError(
                    f"slot {sequence.slot} holds {held} tokens, {sequence.num_computed} computed"
                )


def _piece_table(model: Model) -> Callable[[TokenId], bytes]:
    table: dict[TokenId, bytes] = {}

    def piece(token: TokenId) -> bytes:
        known = table.get(token)
        if known is None:
            known = table[token] = model.piece(token)
        return known

    return piece
