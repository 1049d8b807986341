"""The sections of ``reame.conf``: every key, its type, range and default, once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from reame.config.values import (
    AutoCount,
    Bool,
    FilePath,
    Names,
    OptionalPath,
    Seconds,
    Secret,
    Template,
    Text,
    lower,
    none_if_auto,
    none_if_blank,
    none_if_zero,
)

_WAITING_PER_SLOT = 4
_Size = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """One section. Frozen; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ModelSettings(Section):
    """``[model]``. ``path`` is a GGUF file or a manifest's name.

    ``context_length`` is the pool of tokens that all slots share; ``None`` takes what fits.
    ``threads`` of ``None`` takes the physical cores that this process may use.
    """

    path: str = Field("smollm2-135m", min_length=1)
    name: Text = None
    context_length: AutoCount = None
    threads: AutoCount = None
    chat_template: Template = None
    adapters: Names = ()


class ServerSettings(Section):
    """``[server]``. ``timeout_seconds`` of 0 sets no limit; no ``cors_origins`` means no CORS."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(8000, ge=1, le=65535)
    api_key: Secret = None
    api_keys_file: OptionalPath = None
    model_id: Text = None
    parallel: int = Field(4, ge=1, le=128)
    max_concurrent_requests: int = Field(
        default_factory=lambda data: _WAITING_PER_SLOT * int(data["parallel"]), ge=1
    )
    max_request_size_mb: int = Field(10, ge=1, le=1024)
    timeout_seconds: Seconds = 600.0
    cors_origins: Names = ()
    sse_ping_seconds: float = Field(10.0, gt=0, le=3600)


class EngineSettings(Section):
    """``[engine]``. Prompts are computed in chunks of whole blocks of 64 tokens."""

    batch_tokens: int = Field(512, ge=64, le=8192, multiple_of=64)
    ubatch: int = Field(512, ge=1, le=8192)
    stream_interval_ms: int = Field(40, ge=0, le=10_000)
    idle_slots: Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(none_if_auto)] = None


class MemorySettings(Section):
    """``[memory]``. ``max_ram_gib`` of ``None`` sets no limit of its own."""

    kv_cache_type: Annotated[Literal["f16", "q8_0", "q4_0"], BeforeValidator(lower)] = "f16"
    use_mmap: Bool = True
    use_mlock: Bool = False
    max_ram_gib: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None, BeforeValidator(none_if_zero)
    ] = None


class CacheSettings(Section):
    """``[cache]``. An empty ``directory`` switches the cache off, as in the C++ Reame."""

    model_config = ConfigDict(validate_default=True)

    enabled: Bool = True
    directory: FilePath = Path(".reame-cache")
    max_size_mb: int = Field(4096, ge=1)
    block_tokens: int = Field(64, ge=1, le=4096)
    sync: Bool = False

    @model_validator(mode="before")
    @classmethod
    def _empty_directory_is_off(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("directory") == "":
            return {key: value for key, value in data.items() if key != "directory"} | {"enabled": False}
        return data


class MirrorSettings(Section):
    """``[mirror]``. No ``url`` means no mirror."""

    url: Text = None
    max_size_mb: Annotated[_Size | None, BeforeValidator(none_if_zero)] = None
    compress: Annotated[Literal["auto", "none", "zstd"], BeforeValidator(lower)] = "auto"
    storage_options: Secret = None
    signing_key: Secret = None
    encryption_key: Secret = None
    read: Bool = True
    write: Bool = True


class RoutingSettings(Section):
    """``[routing]``."""

    policy: Annotated[Literal["seconds", "prefix", "power_of_two", "dual_hash"], BeforeValidator(lower)] = (
        "seconds"
    )
    poll_ms: int = Field(500, ge=10, le=60_000)


class SpeculativeSettings(Section):
    """``[speculative]``."""

    enabled: Bool = False
    mode: Annotated[Literal["lookup", "archive", "model"], BeforeValidator(lower)] = "lookup"
    draft_model_path: OptionalPath = None
    draft_tokens: int = Field(8, ge=1, le=64)


class SecuritySettings(Section):
    """``[security]``. ``rate_limit`` counts requests a minute of one key; ``None`` sets none."""

    tenants: Names = ()
    public_namespace: Bool = True
    rate_limit: Annotated[_Size | None, BeforeValidator(none_if_zero)] = None


def _level(value: object) -> object:
    word = lower(none_if_blank(value))
    return "warn" if word == "warning" else word


class LoggingSettings(Section):
    """``[logging]``. ``prompts`` allows prompts and answers in the log."""

    level: Annotated[Literal["debug", "info", "warn", "error"], BeforeValidator(_level)] = "info"
    format: Annotated[Literal["text", "json"], BeforeValidator(lower)] = "text"
    prompts: Bool = False
