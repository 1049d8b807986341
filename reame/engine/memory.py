"""How much memory an engine needs, and how much there is.

The estimate of the compute buffer was fitted to what llama.cpp reports with flash attention on:
a 16-bit mask of ``ubatch`` rows over all cells, and per row the largest layer's activations.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

from reame.catalog import GgufSummary
from reame.engine.limits import ROOT, available_memory, cgroup_memory_left

GIB = 2**30
MIB = 2**20
_MASK_BYTES = 2
_FLOAT_BYTES = 4
_FFN_PER_EMBD = 6  # three feed-forward tensors live at once; no common model is wider than 6 x n_embd
_ROW_FLOATS_PER_EMBD = 3 * _FFN_PER_EMBD + 4
_PROCESS_BYTES = 96 * MIB  # interpreter, numpy, llama.cpp and a vocabulary of 150k tokens
_LOGITS_BYTES = MIB  # one row of 32-bit logits; the largest vocabularies have 262,144 entries
_SCRATCH_SEQUENCES = 2  # what the engine keeps beside its slots
_CELL_STEP = 256  # llama.cpp rounds the number of cells up to this


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """One engine's memory by purpose."""

    weights_bytes: int
    kv_bytes: int
    compute_bytes: int
    overhead_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.kv_bytes + self.compute_bytes + self.overhead_bytes

    def __str__(self) -> str:
        return (
            f"{format_bytes(self.total_bytes)} (weights {format_bytes(self.weights_bytes)}, "
            f"KV {format_bytes(self.kv_bytes)}, compute {format_bytes(self.compute_bytes)}, "
            f"process {format_bytes(self.overhead_bytes)})"
        )


@dataclass(frozen=True, slots=True)
class MemorySupply:
    """Bytes that an engine may use and ``bound``, the name of what limits them."""

    available_bytes: int
    bound: str

    def __str__(self) -> str:
        return f"{format_bytes(self.available_bytes)} ({self.bound})"


def memory_need(
    summary: GgufSummary, *, context_length: int, kv_type: str, ubatch: int, num_slots: int
) -> MemoryNeed:
    """What an engine with these parameters comes to once its context is full.

    Weights count once whether mapped or read: a mapped file must stay in the page cache to be
    fast. Sliding-window layers count in full, so for them the estimate is high.
    """
    cells = -(-context_length // _CELL_STEP) * _CELL_STEP
    rows = min(ubatch, cells)
    row_bytes = summary.n_embd * _ROW_FLOATS_PER_EMBD * _FLOAT_BYTES
    return MemoryNeed(
        weights_bytes=summary.tensor_bytes,
        kv_bytes=cells * summary.kv_bytes_per_token(kv_type, kv_type),
        compute_bytes=rows * (cells * _MASK_BYTES + row_bytes)
        + (num_slots + _SCRATCH_SEQUENCES) * _LOGITS_BYTES,
        overhead_bytes=_PROCESS_BYTES,
    )


def memory_available(max_ram_gib: float | None, root: Path = ROOT) -> MemorySupply:
    """The least of free memory, the cgroup's rest and ``[memory] max_ram_gib``."""
    free = available_memory(root)
    supplies = [MemorySupply(free if free is not None else psutil.virtual_memory().available, "free memory")]
    left = cgroup_memory_left(root)
    if left is not None:
        supplies.append(MemorySupply(left, "left of the cgroup's limit"))
    if max_ram_gib is not None:
        supplies.append(MemorySupply(int(max_ram_gib * GIB), "[memory] max_ram_gib"))
    return min(supplies, key=lambda supply: supply.available_bytes)


def format_bytes(count: int) -> str:
    """Bytes for people: ``1.50 GiB``, ``92 MiB``."""
    return f"{count / GIB:.2f} GiB" if count >= GIB else f"{count / MIB:.0f} MiB"
