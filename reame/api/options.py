"""What the API needs of the configuration, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reame.config import Settings, api_keys

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """How the API behaves.

    No ``api_keys`` leaves it open. ``timeout_s`` of ``None`` sets no limit, ``sse_ping_s`` of
    ``None`` sends no pings. At most ``max_parallel`` sequences of one request run at once.
    """

    model_id: str
    api_keys: tuple[str, ...] = ()
    max_body_bytes: int = 10 * _MIB
    timeout_s: float | None = 600.0
    cors_origins: tuple[str, ...] = ()
    sse_ping_s: float | None = 10.0
    stream_interval_s: float = 0.04
    max_parallel: int = 4
    log_prompts: bool = False


def api_options(settings: Settings, model_path: Path) -> ApiOptions:
    """Read the options out of ``settings``. The model's id is ``[server] model_id``, else
    ``[model] name``, else the file's name without its ending.

    Raises:
        ConfigError: ``[server] api_keys_file`` cannot be read.
    """
    server = settings.server
    return ApiOptions(
        model_id=server.model_id or settings.model.name or model_path.stem,
        api_keys=api_keys(settings),
        max_body_bytes=server.max_request_size_mb * _MIB,
        timeout_s=server.timeout_seconds or None,
        cors_origins=tuple(server.cors_origins),
        sse_ping_s=server.sse_ping_seconds or None,
        stream_interval_s=settings.engine.stream_interval_ms / 1000,
        max_parallel=server.parallel,
        log_prompts=settings.logging.prompts,
    )
