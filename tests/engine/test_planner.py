"""The planner's parameters fit the model and the machine, or its error says what would."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.config import Settings, load_settings
from reame.engine.memory import MemoryNeed, MemorySupply, format_bytes, memory_available, memory_need
from reame.engine.planner import (
    CONTEXT_STEP,
    MAX_AUTO_CONTEXT,
    MIN_AUTO_CONTEXT,
    auto_context,
    need_function,
    plan_context,
    plan_engine,
)
from reame.errors import ConfigError, ModelError, ModelNotFoundError

GIB = 2**30
MIB = 2**20
KV_BYTES = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
PLENTY = MemorySupply(64 * GIB, "free memory")


@dataclass(frozen=True)
class Summary:
    """A model of SmolLM2-135M's shape, as far as the planner looks."""

    name: str = "small"
    n_ctx_train: int = 8192
    n_embd: int = 576
    key_length: int = 64
    value_length: int = 64
    tensor_bytes: int = 96_571_392
    kv_values: int = 30 * 2 * 192

    def kv_bytes_per_token(self, type_k: str, type_v: str) -> int:
        """Half of the values are keys."""
        return int(self.kv_values * (KV_BYTES[type_k] + KV_BYTES[type_v]) / 2)


def _summary(**fields: Any) -> Any:
    return Summary(**fields)


def _settings(**variables: str) -> Settings:
    return load_settings(None, {f"REAME_{name.upper()}": value for name, value in variables.items()})


def _need(context_length: int, kv_type: str = "f16", ubatch: int = 512, num_slots: int = 4) -> MemoryNeed:
    return memory_need(
        _summary(), context_length=context_length, kv_type=kv_type, ubatch=ubatch, num_slots=num_slots
    )


@pytest.mark.parametrize(
    ("context_length", "ubatch", "kv_type", "kv_mib", "compute_mib"),
    [(1024, 512, "f16", 22.5, 14.63), (8192, 512, "f16", 180.0, 21.68), (8192, 128, "q8_0", 95.62, 5.29)],
)
def test_estimate_against_what_llama_cpp_reports(
    context_length: int, ubatch: int, kv_type: str, kv_mib: float, compute_mib: float
) -> None:
    """KV is exact; compute is at least what llama.cpp reserves for SmolLM2, and under 40 MiB more."""
    need = _need(context_length, kv_type, ubatch)
    assert need.kv_bytes / MIB == pytest.approx(kv_mib, abs=0.01)
    assert compute_mib <= need.compute_bytes / MIB <= compute_mib + 40


@given(
    shorter=st.integers(1, 100_000),
    more=st.integers(0, 100_000),
    kv_type=st.sampled_from(sorted(KV_BYTES)),
    ubatch=st.integers(1, 4096),
)
def test_a_longer_context_never_needs_less(shorter: int, more: int, kv_type: str, ubatch: int) -> None:
    """Need grows with the context, and the total is the sum of its parts."""
    need, longer = _need(shorter, kv_type, ubatch), _need(shorter + more, kv_type, ubatch)
    assert need.total_bytes <= longer.total_bytes
    parts = (need.weights_bytes, need.kv_bytes, need.compute_bytes, need.overhead_bytes)
    assert need.total_bytes == sum(parts)
    assert min(parts) > 0


@given(n_ctx_train=st.integers(1, 200_000), available_mib=st.integers(0, 4000))
def test_auto_context_is_the_longest_that_fits(n_ctx_train: int, available_mib: int) -> None:
    """Never above the model's own length or 8192, a multiple of 256 unless the model is shorter."""
    supply = MemorySupply(available_mib * MIB, "free memory")
    length = auto_context(n_ctx_train, _need, supply)
    assert 1 <= length <= min(n_ctx_train, MAX_AUTO_CONTEXT)
    assert length >= min(n_ctx_train, MIN_AUTO_CONTEXT)
    if length > MIN_AUTO_CONTEXT:
        assert length % CONTEXT_STEP == 0
        assert _need(length).total_bytes <= supply.available_bytes
        longer = length + CONTEXT_STEP
        is_longest = longer > min(n_ctx_train, MAX_AUTO_CONTEXT)
        assert is_longest or _need(longer).total_bytes > supply.available_bytes


def test_auto_context_of_a_model_with_room() -> None:
    """A long-context model on a large machine gets 8192, not all it was trained for."""
    assert plan_context(_settings(), _summary(n_ctx_train=131_072), PLENTY) == 8192


def test_explicit_context_is_taken_as_it_is() -> None:
    """What the user asks for and the model allows is served."""
    assert plan_context(_settings(model__context_length="1000"), _summary(), PLENTY) == 1000


def test_the_pool_may_hold_what_all_slots_can_use_and_no_more() -> None:
    """Slots share the pool, so it may exceed one request's limit; the error names the most."""
    assert plan_context(_settings(model__context_length="32768"), _summary(), PLENTY) == 32768
    with pytest.raises(ConfigError, match="set 32768 or less"):
        plan_context(_settings(model__context_length="33000"), _summary(), PLENTY)


@pytest.mark.parametrize(("asked", "taken"), [("1", 64), ("100", 64), ("512", 512)])
def test_a_compute_graph_takes_whole_blocks(asked: str, taken: int, demo_model: Path) -> None:
    """Prefill must not be cut inside a block, whatever `[engine] ubatch` says."""
    assert plan_engine(_settings(engine__ubatch=asked, model__path=str(demo_model))).ubatch == taken


@pytest.mark.parametrize("kv_type", ["q8_0", "q4_0"])
def test_quantised_kv_needs_heads_of_32(kv_type: str) -> None:
    """Heads of 80 values cannot be quantised in groups of 32; f16 takes them."""
    odd = _summary(key_length=80)
    with pytest.raises(ConfigError, match=r"80 \(keys\) and 64 \(values\)"):
        plan_context(_settings(memory__kv_cache_type=kv_type), odd, PLENTY)
    assert plan_context(_settings(), odd, PLENTY) == 8192


@pytest.mark.parametrize(
    ("kv_type", "way"),
    [("f16", "kv_cache_type = q8_0"), ("q8_0", "kv_cache_type = q4_0"), ("q4_0", "smaller model")],
)
def test_what_cannot_fit_is_refused_with_numbers(kv_type: str, way: str) -> None:
    """Weights, KV, compute and what there is stand in the error, with the ways out."""
    settings = _settings(model__context_length="8192", memory__kv_cache_type=kv_type)
    tight = MemorySupply(100 * MIB, "left of the cgroup's limit")
    with pytest.raises(ModelError) as caught:
        plan_context(settings, _summary(), tight)
    message = caught.value.message
    for part in (
        "weights 92 MiB",
        "KV ",
        "compute ",
        "100 MiB (left of the cgroup's limit)",
        "context_length",
        way,
    ):
        assert part in message


def test_auto_context_that_cannot_fit_is_refused_too() -> None:
    """A model larger than memory is an error before llama.cpp touches it."""
    with pytest.raises(ModelError, match="context of 512 tokens"):
        plan_context(_settings(), _summary(tensor_bytes=8 * GIB), MemorySupply(4 * GIB, "free memory"))


def test_supply_is_the_tightest_limit(tmp_path: Path) -> None:
    """Free memory, the cgroup's rest and max_ram_gib: the least binds, by name."""
    files = {
        "proc/meminfo": f"MemAvailable: {8 * GIB // 1024} kB\n",
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{1 * GIB}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_available(None, tmp_path) == MemorySupply(3 * GIB, "left of the cgroup's limit")
    assert memory_available(2.5, tmp_path) == MemorySupply(int(2.5 * GIB), "[memory] max_ram_gib")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert memory_available(16, tmp_path) == MemorySupply(8 * GIB, "free memory")


def test_need_uses_no_more_rows_than_a_batch_has() -> None:
    """A micro batch wider than the batch never fills."""
    narrow = need_function(_settings(engine__batch_tokens="128", engine__ubatch="512"), _summary())
    assert narrow(4096) == _need(4096, ubatch=128)


def test_bytes_for_people() -> None:
    """Below a GiB whole MiB, above it two digits."""
    assert (format_bytes(92 * MIB), format_bytes(3 * GIB // 2)) == ("92 MiB", "1.50 GiB")


@pytest.mark.model
def test_plan_for_the_demo_model(demo_model: Path) -> None:
    """Settings reach the engine's options; what they leave open is decided."""
    options = plan_engine(
        _settings(
            model__path=str(demo_model),
            model__threads="1",
            server__parallel="2",
            memory__kv_cache_type="q8_0",
        )
    )
    assert options.model_path == demo_model
    assert (options.context_length, options.num_threads, options.num_slots) == (8192, 1, 2)
    assert (options.kv_cache_type, options.max_requests) == (
        "q8_0",
        _settings(server__parallel="2").server.max_concurrent_requests,
    )


def test_a_missing_model_is_the_catalogs_error(tmp_path: Path) -> None:
    """The planner adds nothing to it."""
    with pytest.raises(ModelNotFoundError):
        plan_engine(_settings(model__path=str(tmp_path / "none.gguf")))
