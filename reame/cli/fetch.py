"""The model file of a start: there already, or fetched first."""

from __future__ import annotations

from pathlib import Path

from reame.catalog import check_gguf, resolve_model
from reame.config import Settings


def ensure_model(settings: Settings) -> Path:
    """The whole GGUF to serve; a manifest's model that is not here yet is fetched.

    Raises:
        ModelNotFoundError: neither a file nor a manifest.
        FetchError: it cannot be fetched.
    """
    path = resolve_model(settings)
    check_gguf(path)
    return path
