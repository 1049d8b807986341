"""Turns settings and a model file into engine parameters that fit this machine."""

from __future__ import annotations

from collections.abc import Callable

from reame.blocks import BLOCK_TOKENS, floor_to_block
from reame.catalog import GgufSummary, gguf_summary, resolve_model
from reame.config import Settings
from reame.engine.memory import MemoryNeed, MemorySupply, memory_available, memory_need
from reame.engine.options import EngineOptions
from reame.engine.threads import default_num_threads
from reame.errors import ConfigError, ModelError

MAX_AUTO_CONTEXT = 8192
MIN_AUTO_CONTEXT = 512
CONTEXT_STEP = 256
_QUANT_BLOCK = 32
_SMALLER_KV = {
    "f16": "set [memory] kv_cache_type = q8_0, ",
    "q8_0": "set [memory] kv_cache_type = q4_0, ",
    "q4_0": "",
}

NeedOf = Callable[[int], MemoryNeed]
"""Memory for a context length."""


def plan_engine(settings: Settings) -> EngineOptions:
    """Decide every engine parameter.

    Raises:
        ConfigError: the settings contradict the model.
        ModelError: no such model, a damaged one, or one too large for this machine.
    """
    path = resolve_model(settings)
    summary = gguf_summary(path)
    supply = memory_available(settings.memory.max_ram_gib)
    return EngineOptions(
        model_path=path,
        context_length=plan_context(settings, summary, supply),
        num_slots=settings.server.parallel,
        num_threads=settings.model.threads or default_num_threads(),
        batch_tokens=settings.engine.batch_tokens,
        ubatch=_whole_blocks(settings.engine.ubatch),
        kv_cache_type=settings.memory.kv_cache_type,
        use_mmap=settings.memory.use_mmap,
        use_mlock=settings.memory.use_mlock,
        max_requests=settings.server.max_concurrent_requests,
        log_level=settings.logging.level,
        log_format=settings.logging.format,
    )


def plan_context(settings: Settings, summary: GgufSummary, supply: MemorySupply) -> int:
    """The pool of tokens to serve: the one asked for, or the largest that fits.

    All slots share it, so it may exceed what the model was trained for; one request may not.

    Raises:
        ConfigError: more than all slots could use, or a KV type that the model cannot take.
        ModelError: it does not fit into ``supply``.
    """
    check_kv_type(settings.memory.kv_cache_type, summary)
    need_of = need_function(settings, summary)
    asked = settings.model.context_length
    context_length = auto_context(summary.n_ctx_train, need_of, supply) if asked is None else asked
    most = summary.n_ctx_train * settings.server.parallel
    if context_length > most:
        raise ConfigError(
            f"[model] context_length = {context_length} is more than {settings.server.parallel} slots can "
            f"use of a model trained for {summary.n_ctx_train} tokens; set {most} or less, or auto",
            param="context_length",
        )
    _require_fit(need_of(context_length), supply, context_length, settings.memory.kv_cache_type)
    return context_length


def _whole_blocks(ubatch: int) -> int:
    """A compute graph takes whole blocks, else llama.cpp cuts chunks where other kernels begin."""
    return max(BLOCK_TOKENS, floor_to_block(ubatch))


def need_function(settings: Settings, summary: GgufSummary) -> NeedOf:
    """Memory by context length, everything else as configured."""

    def need_of(context_length: int) -> MemoryNeed:
        return memory_need(
            summary,
            context_length=context_length,
            kv_type=settings.memory.kv_cache_type,
            ubatch=min(settings.engine.ubatch, settings.engine.batch_tokens),
            num_slots=settings.server.parallel,
        )

    return need_of


def auto_context(n_ctx_train: int, need_of: NeedOf, supply: MemorySupply) -> int:
    """The largest multiple of 256 up to 8192 that fits; 512 when not even that does.

    A model trained for less than 512 tokens gets what it was trained for.
    """
    most = min(n_ctx_train, MAX_AUTO_CONTEXT)
    steps = range(most // CONTEXT_STEP * CONTEXT_STEP, MIN_AUTO_CONTEXT, -CONTEXT_STEP)
    fitting = (length for length in steps if need_of(length).total_bytes <= supply.available_bytes)
    return next(fitting, min(most, MIN_AUTO_CONTEXT))


def check_kv_type(kv_type: str, summary: GgufSummary) -> None:
    """Quantised KV is stored in groups of 32 values, which may not cross heads.

    Raises:
        ConfigError: the model's heads do not divide into such groups.
    """
    sizes = (summary.key_length, summary.value_length)
    if kv_type != "f16" and any(size % _QUANT_BLOCK for size in sizes):
        raise ConfigError(
            f"[memory] kv_cache_type = {kv_type} needs attention heads of a multiple of {_QUANT_BLOCK} "
            f"values; this model's have {sizes[0]} (keys) and {sizes[1]} (values); set kv_cache_type = f16",
            param="kv_cache_type",
        )


def _require_fit(need: MemoryNeed, supply: MemorySupply, context_length: int, kv_type: str) -> None:
    if need.total_bytes > supply.available_bytes:
        raise ModelError(
            f"the model does not fit: a context of {context_length} tokens with {kv_type} KV needs {need}, "
            f"there is {supply}. Set a smaller [model] context_length, {_SMALLER_KV[kv_type]}or choose a "
            "smaller model"
        )
