"""``reame bench engine``: what the engine and the way to it cost over bare ``llama_decode``.

In one process a bare decode loop and the engine take turns over one context, so they share
whatever the machine does meanwhile. Then real servers are driven by streaming clients, and the
CPU time of every process of theirs but the engine's is divided by the tokens streamed.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from reame.bench.load import StreamRecord, stream_completion
from reame.bench.machine import describe_machine
from reame.bench.report import Report, Row
from reame.bench.servers import Server, running_server
from reame.engine.core import Engine
from reame.engine.llama import Context, DecodeStatus, Model
from reame.engine.options import EngineOptions
from reame.engine.wire import Event
from reame.types import GenerateRequest, SamplingParams

_GREEDY = SamplingParams(temperature=0.0)
_PROMPT_TOKENS = 64
_PREFILL_TOKENS = 1024
_IDLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: streams at once, tokens of each, paired rounds."""

    num_sequences: Sequence[int] = (1, 4, 8)
    num_tokens: int = 96
    num_rounds: int = 5


class InProcess:
    """A bare loop and the engine over the same context."""

    def __init__(self, options: EngineOptions) -> None:
        self._model = Model(options)
        self._context = Context(self._model, options)
        self._engine = Engine(self._model, self._context, options)
        self._vocab_size = self._model.vocab_size

    def prompt(self, number: int, size: int) -> tuple[int, ...]:
        """Token ids that no other number shares, away from the special ids at the front."""
        return tuple(1000 + (number * 7919 + i * 104729) % (self._vocab_size - 1000) for i in range(size))

    def bare_decode_tps(self, num_sequences: int, num_tokens: int) -> float:
        """Tokens a second of ``llama_decode`` alone: no sampling, the ids made up beforehand."""
        for slot in range(num_sequences):
            self._bare_prefill(slot, self.prompt(slot, _PROMPT_TOKENS))
        batch = self._context.batch
        began_s = time.perf_counter()
        for step in range(num_tokens):
            batch.clear()
            for slot in range(num_sequences):
                batch.add(slot, (1000 + step,), _PROMPT_TOKENS + step, output=True)
            self._decode()
        took_s = time.perf_counter() - began_s
        self._clear(num_sequences)
        return num_sequences * num_tokens / took_s

    def bare_prefill_tps(self) -> float:
        """Tokens a second of ``llama_decode`` over one prompt, in the engine's own chunks."""
        began_s = time.perf_counter()
        self._bare_prefill(0, self.prompt(99, _PREFILL_TOKENS))
        took_s = time.perf_counter() - began_s
        self._clear(1)
        return _PREFILL_TOKENS / took_s

    def engine_prefill_tps(self) -> float:
        """The same prompt through the engine."""
        request = GenerateRequest("prefill", self.prompt(99, _PREFILL_TOKENS), 0, _GREEDY)
        began_s = time.perf_counter()
        self._run([request])
        return _PREFILL_TOKENS / (time.perf_counter() - began_s)

    def engine_decode(self, num_sequences: int, num_tokens: int) -> tuple[float, float]:
        """Tokens a second through the engine, and the share of that time outside ``llama_decode``."""
        requests = [
            GenerateRequest(
                f"bench-{i}",
                self.prompt(i, _PROMPT_TOKENS),
                num_tokens + 1,  # the prefill draws the first
                _GREEDY,
                ignore_eos=True,
                stream_interval_s=0.04,
            )
            for i in range(num_sequences)
        ]
        for number, request in enumerate(requests):
            self._engine.submit(number, request)
        while any(s.num_generated < 1 for s in self._engine.scheduler.running) or self._engine.num_waiting:
            self._engine.step()
        times = self._engine.times
        llama_s, total_s, began_s = times.llama_s, times.total_s, time.perf_counter()
        while self._engine.has_work:
            self._engine.step()
        took_s = time.perf_counter() - began_s
        outside = 1 - (times.llama_s - llama_s) / (times.total_s - total_s)
        return num_sequences * num_tokens / took_s, outside

    def _run(self, requests: list[GenerateRequest]) -> list[Event]:
        for number, request in enumerate(requests):
            self._engine.submit(number, request)
        events: list[Event] = []
        while self._engine.has_work:
            events += [news for news in self._engine.step() if isinstance(news, Event)]
        return events

    def _bare_prefill(self, slot: int, ids: tuple[int, ...]) -> None:
        batch = self._context.batch
        cuts = [*range(0, len(ids) - 1, 512), len(ids)]
        tail = (len(ids) - 1) // 64 * 64
        bounds = sorted({*cuts, tail})
        for begin, end in pairwise(bounds):
            batch.clear()
            batch.add(slot, ids[begin:end], begin, output=end == len(ids))
            self._decode()

    def _decode(self) -> None:
        if self._context.decode() is not DecodeStatus.DONE:
            raise RuntimeError("llama_decode failed in the bare loop")

    def _clear(self, num_sequences: int) -> None:
        for slot in range(num_sequences):
            self._context.remove(slot)


def in_process_rows(options: EngineOptions, plan: Plan) -> list[Row]:
    """Bare loop and engine in turns; medians, and the median of the paired ratios."""
    bench = InProcess(options)
    bench.bare_decode_tps(1, 8)
    rows: list[Row] = []
    for num_sequences in plan.num_sequences:
        bare, engine, outside = [], [], []
        for _ in range(plan.num_rounds):
            bare.append(bench.bare_decode_tps(num_sequences, plan.num_tokens))
            tps, share = bench.engine_decode(num_sequences, plan.num_tokens)
            engine.append(tps)
            outside.append(share)
        ratios = [e / b for e, b in zip(engine, bare, strict=True)]
        rows.append(_row("bare llama_decode", num_sequences, decode_tps=statistics.median(bare)))
        rows.append(
            _row(
                "engine in process",
                num_sequences,
                decode_tps=statistics.median(engine),
                of_bare=statistics.median(ratios),
                outside_llama_share=statistics.median(outside),
            )
        )
    pairs = [(bench.bare_prefill_tps(), bench.engine_prefill_tps()) for _ in range(plan.num_rounds)]
    rows.append(_row("bare llama_decode", 1, prefill_tps=statistics.median(b for b, _ in pairs)))
    rows.append(
        _row(
            "engine in process",
            1,
            prefill_tps=statistics.median(e for _, e in pairs),
            of_bare=statistics.median(e / b for b, e in pairs),
        )
    )
    return rows


def _row(target: str, num_sequences: int, **values: float) -> Row:
    return {"target": target, "streams": num_sequences, **values}


async def _streams(server: Server, num_sequences: int, num_tokens: int, *, salt: int) -> list[StreamRecord]:
    body = {"max_tokens": num_tokens, "temperature": 0, "ignore_eos": True}
    return await asyncio.gather(
        *(
            stream_completion(
                server.host, server.port, {**body, "prompt": [1000 + salt + i] * 2 + list(range(1000, 1062))}
            )
            for i in range(num_sequences)
        )
    )


def http_rows(server: Server, plan: Plan) -> list[Row]:
    """Streaming clients against a running server, after a look at what it costs when idle."""
    asyncio.run(_streams(server, 1, 4, salt=1))
    idle = _idle_cpu_share(server)
    rows = [_row(server.name, 0, idle_cpu_percent=100 * idle)]
    for num_sequences in plan.num_sequences:
        rounds = [
            _http_round(server, num_sequences, plan.num_tokens, n, idle) for n in range(plan.num_rounds)
        ]
        medians = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        rows.append(_row(server.name, num_sequences, **medians))
    return rows


def _idle_cpu_share(server: Server) -> float:
    """Cores that the server's processes keep busy, the engine's apart, while nobody asks anything."""
    before_s = server.cpu_outside_engine_s()
    time.sleep(_IDLE_S)
    return (server.cpu_outside_engine_s() - before_s) / _IDLE_S


def _http_round(
    server: Server, num_sequences: int, num_tokens: int, number: int, idle: float
) -> dict[str, float]:
    began_s, cpu_before_s = time.perf_counter(), server.cpu_outside_engine_s()
    records = asyncio.run(_streams(server, num_sequences, num_tokens, salt=100 * number))
    cpu_s = server.cpu_outside_engine_s() - cpu_before_s
    idle_s = idle * (time.perf_counter() - began_s)
    _require_success(server, records)
    num_streamed = sum(r.num_tokens for r in records)
    decode_s = max(r.total_s for r in records) - max(r.ttft_s for r in records)
    return {
        "decode_tps": num_sequences * (num_tokens - 1) / decode_s,
        "cpu_ms_per_token": 1000 * cpu_s / num_streamed,
        "of_it_above_idle": 1000 * (cpu_s - idle_s) / num_streamed,
        "tokens_per_piece": num_streamed / sum(len(r.piece_times_s) for r in records),
    }


def _require_success(server: Server, records: Sequence[StreamRecord]) -> None:
    failed = [r.error for r in records if r.error]
    if failed:
        raise RuntimeError(f"{server.name}: {failed[0]}")


def stall_row(server: Server, *, num_streams: int, long_prompt: int) -> Row:
    """How long the streams fall silent while a long prompt is computed beside them.

    Every step gives each stream a token, so the pieces that one stream gets meanwhile count the
    prompt's chunks, and the prompt's time divided by them is the time of one chunk.
    """
    records, long_record = asyncio.run(_stall(server, num_streams, long_prompt))
    _require_success(server, [*records, long_record])
    largest_gap_s = max(r.largest_gap_s for r in records)
    begin_s, end_s = long_record.began_s, long_record.began_s + long_record.ttft_s
    num_chunks = max(r.pieces_between(begin_s, end_s) for r in records)
    chunk_s = long_record.ttft_s / num_chunks
    return _row(
        f"{server.name}, {long_prompt} tokens arrive",
        num_streams,
        largest_gap_ms=1000 * largest_gap_s,
        prefill_chunk_ms=1000 * chunk_s,
        gap_in_chunks=largest_gap_s / chunk_s,
    )


async def _stall(
    server: Server, num_streams: int, long_prompt: int
) -> tuple[list[StreamRecord], StreamRecord]:
    running = asyncio.gather(*[asyncio.create_task(_one(server, i)) for i in range(num_streams)])
    await asyncio.sleep(2)
    body = {"prompt": [1000 + i % 40000 for i in range(long_prompt)], "max_tokens": 4, "temperature": 0}
    long_record = await stream_completion(server.host, server.port, body)
    return await running, long_record


async def _one(server: Server, number: int) -> StreamRecord:
    prompt = (
        f"Chapter {number}. Once upon a time there was a king who had"  # each token of prose is text to send
    )
    body = {"prompt": prompt, "max_tokens": 150, "temperature": 0, "ignore_eos": True}
    return await stream_completion(server.host, server.port, body)


def run_engine_bench(model: Path, options: EngineOptions, plan: Plan, targets: Sequence[str]) -> Report:
    """Measure the wished targets: ``inprocess``, ``http`` (uvicorn), ``ray``."""
    rows: list[Row] = []
    notes: list[str] = []
    wide = replace(options, num_slots=max(*plan.num_sequences, options.num_slots) + 1)
    if "inprocess" in targets:
        rows += in_process_rows(wide, plan)
    for target in ("http", "ray"):
        if target not in targets:
            continue
        with running_server(model, use_ray=target == "ray", parallel=wide.num_slots) as server:
            rows += http_rows(server, plan)
            rows.append(stall_row(server, num_streams=8, long_prompt=4000))
    return Report("engine", describe_machine(model), rows, notes)
