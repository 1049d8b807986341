"""llama.cpp gets one thread for each physical core that this process may use."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.engine.threads import count_threads, default_num_threads

HYPERTHREADED = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"}


@pytest.mark.parametrize(
    ("cpus", "cores", "num_physical", "quota", "expected"),
    [
        pytest.param({0, 1}, {0: "0", 1: "1"}, 2, None, 2, id="two plain cores"),
        pytest.param(set(range(8)), HYPERTHREADED, 4, None, 4, id="siblings count once"),
        pytest.param({0, 4}, HYPERTHREADED, 4, None, 1, id="affinity to one core"),
        pytest.param(set(range(8)), HYPERTHREADED, 4, 2.9, 2, id="quota is rounded down"),
        pytest.param({0, 1}, {}, 2, 0.5, 1, id="less than a CPU still computes"),
        pytest.param({0, 1, 2}, {}, None, None, 3, id="nothing known but the mask"),
        pytest.param({0, 1, 2, 3}, {}, 2, None, 2, id="topology hidden, cores known"),
    ],
)
def test_threads_follow_the_tightest_limit(
    cpus: set[int], cores: dict[int, str], num_physical: int | None, quota: float | None, expected: int
) -> None:
    """Mask, cores and quota: the least of them decides."""
    threads = count_threads(cpus=frozenset(cpus), cores=cores, num_physical=num_physical, quota=quota)
    assert threads == expected


@given(
    cpus=st.frozensets(st.integers(0, 63)),
    num_physical=st.none() | st.integers(1, 64),
    quota=st.none() | st.floats(0, 64),
)
def test_always_at_least_one_and_never_above_a_limit(
    cpus: frozenset[int], num_physical: int | None, quota: float | None
) -> None:
    """Whatever the kernel says, the count is at least 1 and within every limit above 1."""
    threads = count_threads(cpus=cpus, cores={}, num_physical=num_physical, quota=quota)
    assert threads >= 1
    assert threads <= max(1, len(cpus))
    assert num_physical is None or threads <= num_physical
    assert quota is None or threads <= max(1, quota)


def test_reads_this_machine(tmp_path: Path) -> None:
    """The reader agrees with itself on a machine that hides its topology."""
    assert 1 <= default_num_threads() <= default_num_threads(tmp_path)
