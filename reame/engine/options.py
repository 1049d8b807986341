"""What an engine is started with. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KV_TYPES = ("f16", "q8_0", "q4_0")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """One engine's start parameters, every one decided (no ``auto`` left).

    ``context_length`` is the pool of KV cells that all slots share; one request may use it all, up
    to what the model was trained for. ``batch_tokens`` is the most tokens of one ``llama_decode``;
    ``ubatch`` the most of one compute graph. ``mixed_step_s`` is how long a step may take, by the
    measured prefill speed, when a prompt is computed beside running decodes.
    ``max_requests`` counts running and waiting together; beyond it requests are refused.
    """

    model_path: Path
    context_length: int
    num_slots: int = 4
    num_threads: int = 2
    batch_tokens: int = 512
    ubatch: int = 512
    kv_cache_type: str = "f16"
    use_mmap: bool = True
    use_mlock: bool = False
    max_requests: int = 16
    mixed_step_s: float = 0.25
    log_level: str = "info"
    log_format: str = "text"
