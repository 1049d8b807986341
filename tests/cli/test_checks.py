"""Every fault that doctor knows gets its verdict and a way to mend it."""

import pytest

from reame.cli import checks, cpu
from reame.cli.checks import Check, Status
from reame.engine.memory import MemoryNeed, MemorySupply

GIB = 2**30
NEED = MemoryNeed(weights_bytes=GIB, kv_bytes=GIB, compute_bytes=0, overhead_bytes=0)
X86 = frozenset({"pni", "avx", "avx2", "f16c", "fma", "avx512f", "avx512_vnni"})
X86_BUILD = frozenset({"SSE3", "AVX", "AVX2", "F16C", "FMA", "AVX512", "AVX512_VNNI", "REPACK"})
ARM = frozenset({"asimd", "asimddp"})


def _supply(gib: float) -> MemorySupply:
    return MemorySupply(int(gib * GIB), "free memory")


def _memory(gib: float, replicas: int = 1) -> Check:
    return checks.check_memory(NEED, _supply(gib), replicas=replicas, context_length=8192)


@pytest.mark.parametrize(
    ("check", "status", "word"),
    [
        pytest.param(checks.check_python((3, 10, 4)), Status.FAIL, "3.10.4", id="old Python"),
        pytest.param(checks.check_python((3, 14, 0)), Status.OK, "3.14.0", id="new Python"),
        pytest.param(checks.check_packages(None, {}), Status.WARN, "not installed", id="run from a folder"),
        pytest.param(
            checks.check_packages({"ray": "1"}, {"ray": None}), Status.FAIL, "ray", id="package missing"
        ),
        pytest.param(
            checks.check_packages({"ray": "1"}, {"ray": "2"}), Status.WARN, "tested: 1", id="other version"
        ),
        pytest.param(
            checks.check_packages({"ray": "1"}, {"ray": "1"}), Status.OK, "1 packages", id="as pinned"
        ),
        pytest.param(_memory(1.9), Status.FAIL, "2.00 GiB", id="too little memory"),
        pytest.param(_memory(2.2), Status.WARN, "tight", id="tight memory"),
        pytest.param(_memory(3.25), Status.OK, "8192", id="enough memory"),
        pytest.param(_memory(3.9, replicas=2), Status.FAIL, "2 x", id="replicas count"),
        pytest.param(checks.check_disk("d", "/m", 1, 2), Status.WARN, "/m", id="little disk"),
        pytest.param(checks.check_disk("d", "/m", 2, 2), Status.OK, "/m", id="enough disk"),
        pytest.param(
            checks.check_writable("/c", "Read-only"), Status.FAIL, "Read-only", id="cache read-only"
        ),
        pytest.param(checks.check_writable("/c", None), Status.OK, "/c", id="cache writable"),
        pytest.param(checks.check_port("h", 1, "taken by x (pid 9)"), Status.WARN, "pid 9", id="port taken"),
        pytest.param(checks.check_port("h", 1, None), Status.OK, "free", id="port free"),
        pytest.param(checks.check_exposure("0.0.0.0", False), Status.WARN, "0.0.0.0", id="open to all"),
        pytest.param(checks.check_exposure("0.0.0.0", True), Status.OK, "key", id="open with a key"),
        pytest.param(checks.check_exposure("localhost", False), Status.OK, "localhost", id="loopback name"),
        pytest.param(checks.check_exposure("::1", False), Status.OK, "::1", id="loopback v6"),
        pytest.param(checks.check_threads(8, 2), Status.WARN, "only 2", id="too many threads"),
        pytest.param(checks.check_threads(2, 2), Status.OK, "2 of 2", id="threads fit"),
        pytest.param(checks.check_threads(None, 3), Status.OK, "3", id="threads by default"),
        pytest.param(
            checks.check_haproxy(True, False), Status.FAIL, "every interface", id="HAProxy without keys"
        ),
        pytest.param(checks.check_haproxy(True, True), Status.OK, "on", id="HAProxy with keys"),
        pytest.param(checks.check_haproxy(False, False), Status.OK, "off", id="no HAProxy"),
        pytest.param(checks.check_ray(None, None), Status.FAIL, "not installed", id="no Ray"),
        pytest.param(checks.check_ray("2", "ImportError: x"), Status.FAIL, "ImportError", id="broken Ray"),
        pytest.param(checks.check_ray("2", None), Status.OK, "Ray 2", id="Ray"),
        pytest.param(
            cpu.check_llama(None, X86, "no such file"), Status.FAIL, "no such file", id="llama.cpp broken"
        ),
        pytest.param(cpu.check_llama(X86_BUILD, X86, None), Status.OK, "AVX512_VNNI", id="llama.cpp native"),
        pytest.param(cpu.check_llama(X86_BUILD, frozenset(), None), Status.OK, "loads", id="flags unknown"),
        pytest.param(
            cpu.check_llama(X86_BUILD - {"AVX512", "AVX512_VNNI"}, X86, None),
            Status.WARN,
            "AVX512, AVX512_VNNI",
            id="llama.cpp below its CPU",
        ),
        pytest.param(
            cpu.check_llama(X86_BUILD, X86 - {"avx512_vnni"}, None),
            Status.FAIL,
            "AVX512_VNNI",
            id="foreign build",
        ),
        pytest.param(
            cpu.check_llama(frozenset({"NEON"}), ARM, None), Status.WARN, "DOTPROD", id="ARM, no dotprod"
        ),
    ],
)
def test_verdict(check: Check, status: Status, word: str) -> None:
    """The verdict names what was found; one that is not ok says what to do."""
    assert check.status is status
    assert word in check.message
    assert (check.mend is None) == (status is Status.OK)


def test_system_info_lists_what_is_on() -> None:
    """Only features with a value other than 0 count, whichever device stands before them."""
    text = "CPU : SSE3 = 1 | AVX = 1 | AVX512 = 0 | REPACK = 1 | \n"
    assert cpu.parse_system_info(text) == {"SSE3", "AVX", "REPACK"}
    assert cpu.parse_system_info("") == frozenset()


def test_cpu_flags_of_either_architecture() -> None:
    """x86 writes flags, ARM writes Features."""
    assert cpu.parse_cpu_flags("model name : x\nflags\t\t: pni avx2\n") == {"pni", "avx2"}
    assert cpu.parse_cpu_flags("Features\t: asimd asimddp\n") == ARM
    assert cpu.parse_cpu_flags("") == frozenset()
