"""How many threads llama.cpp gets: one for each physical core that this process may use.

Two threads on one core share its vector units, and llama.cpp's barriers spin: a thread more
than the cores slows every step.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import psutil

from reame.engine.limits import ROOT, cpu_quota


def count_threads(
    *, cpus: frozenset[int], cores: Mapping[int, str], num_physical: int | None, quota: float | None
) -> int:
    """Threads for the logical ``cpus`` of the affinity mask; at least 1.

    ``cores`` names the physical core of a logical CPU, where known; one that is not known counts
    as a core of its own. ``num_physical`` are the machine's cores, ``quota`` CPUs' worth of time.
    """
    usable = len({cores.get(cpu, f"cpu{cpu}") for cpu in cpus})
    limits = [usable, num_physical or usable, math.floor(quota) if quota is not None else usable]
    return max(1, min(limits))


def default_num_threads(root: Path = ROOT) -> int:
    """:func:`count_threads` of this process."""
    cpus = _affinity()
    return count_threads(
        cpus=cpus,
        cores=_cores(root, cpus),
        num_physical=psutil.cpu_count(logical=False),
        quota=cpu_quota(root),
    )


def _affinity() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _cores(root: Path, cpus: frozenset[int]) -> dict[int, str]:
    """The sibling list of each logical CPU: equal lists, same core."""
    cores: dict[int, str] = {}
    for cpu in cpus:
        path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        try:
            cores[cpu] = path.read_text().strip()
        except OSError:
            continue
    return cores
