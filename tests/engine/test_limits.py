"""Kernel limits are read from any /proc and /sys that Linux writes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.engine.limits import (
    available_memory,
    cgroup_memory_left,
    cpu_quota,
    parse_cgroups,
    parse_cpu_max,
    parse_file_cache_bytes,
    parse_limit_bytes,
    parse_meminfo,
)


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_meminfo_is_bytes() -> None:
    """kB lines become bytes, plain counts stay."""
    text = "MemTotal:  100 kB\nMemAvailable:   40 kB\nHugePages_Total:  3\nodd line\n"
    assert parse_meminfo(text) == {"MemTotal": 102400, "MemAvailable": 40960, "HugePages_Total": 3}


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("max 100000\n", None), ("150000 100000\n", 1.5), ("", None), ("-1 100000", None), ("100 0", None)],
)
def test_cpu_quota_in_cpus(text: str, cpus: float | None) -> None:
    """A quota is time over period; ``max`` and -1 mean none."""
    assert parse_cpu_max(text) == cpus


@pytest.mark.parametrize(
    ("text", "limit"), [("max\n", None), ("9223372036854771712\n", None), ("1048576\n", 1048576), ("", None)]
)
def test_memory_limit(text: str, limit: int | None) -> None:
    """``max`` and the huge number of cgroup v1 both mean no limit."""
    assert parse_limit_bytes(text) == limit


def test_file_cache_takes_hierarchical_counts() -> None:
    """cgroup v1 counts children only in its total_ fields."""
    v1 = "inactive_file 1\nactive_file 1\ntotal_inactive_file 10\ntotal_active_file 20\n"
    assert parse_file_cache_bytes(v1) == 30
    assert parse_file_cache_bytes("inactive_file 3\nactive_file 4\nslab 9\n") == 7


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    """Nothing that a kernel could write raises."""
    parse_meminfo(text)
    parse_cgroups(text)
    parse_cpu_max(text)
    parse_limit_bytes(text)
    parse_file_cache_bytes(text)


def test_v2_limit_of_an_ancestor_binds(tmp_path: Path) -> None:
    """The tightest limit between the process's cgroup and the mount counts; page cache does not."""
    root = _write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/reame\n",
            "sys/fs/cgroup/user/reame/memory.max": "max\n",
            "sys/fs/cgroup/user/reame/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user/memory.max": "1000\n",
            "sys/fs/cgroup/user/memory.current": "700\n",
            "sys/fs/cgroup/user/memory.stat": "inactive_file 100\nactive_file 50\n",
            "sys/fs/cgroup/user/cpu.max": "250000 100000\n",
        },
    )
    assert cgroup_memory_left(root) == 450
    assert cpu_quota(root) == 2.5


def test_v1_container_without_its_path(tmp_path: Path) -> None:
    """Inside a container the host's path is missing below the mount; the mount's own limit counts."""
    root = _write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "400\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert cgroup_memory_left(root) == 600
    assert cpu_quota(root) == 0.5


def test_usage_over_the_limit_leaves_nothing(tmp_path: Path) -> None:
    """What is left is never negative."""
    root = _write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "10\n",
            "sys/fs/cgroup/memory.current": "20\n",
        },
    )
    assert cgroup_memory_left(root) == 0


def test_no_cgroups_means_no_limits(tmp_path: Path) -> None:
    """A system without /proc or /sys reports nothing instead of failing."""
    assert (available_memory(tmp_path), cgroup_memory_left(tmp_path), cpu_quota(tmp_path)) == (
        None,
        None,
        None,
    )
