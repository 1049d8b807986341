"""The model file of a start: there already, or fetched first."""

from __future__ import annotations

from pathlib import Path

from reame.catalog import check_gguf, configured_manifest, models_directory, pull, resolve_model
from reame.cli.progress import download_progress
from reame.config import Settings
from reame.errors import ModelNotFoundError


def ensure_model(settings: Settings) -> Path:
    """The whole GGUF to serve; a manifest's model that is not here yet is fetched.

    Raises:
        ModelNotFoundError: ``[model] path`` is neither a file nor a manifest.
        ModelInvalidError: the file is damaged.
        FetchError: it cannot be fetched.
    """
    try:
        path = resolve_model(settings)
    except ModelNotFoundError:
        manifest = configured_manifest(settings)
        if manifest is None:
            raise
        with download_progress(manifest.title) as progress:
            return pull(manifest.name, models_directory(settings), progress)
    check_gguf(path)
    return path
