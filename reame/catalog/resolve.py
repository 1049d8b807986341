"""Which file ``[model] path`` means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from reame.catalog.lookup import try_find
from reame.catalog.manifest import Manifest, load_manifests
from reame.errors import ModelNotFoundError

MODELS_DIR_VARIABLE = "REAME_MODELS_DIR"
_SHOWN_FILES = 8


class _ModelSection(Protocol):
    @property
    def path(self) -> str: ...


class ModelSettings(Protocol):
    """What is needed of the settings; packages of one layer do not import each other."""

    @property
    def model(self) -> _ModelSection: ...

    @property
    def source(self) -> Path | None: ...

    @property
    def base(self) -> Path: ...


def models_directory(settings: ModelSettings, environ: Mapping[str, str] | None = None) -> Path:
    """Where models are kept: ``REAME_MODELS_DIR``, ``models`` beside ``reame.conf``, ``~/.reame/models``."""
    variable = (os.environ if environ is None else environ).get(MODELS_DIR_VARIABLE)
    if variable:
        return Path(variable).expanduser().absolute()
    beside = settings.source.parent / "models" if settings.source is not None else None
    return beside if beside is not None and beside.is_dir() else Path.home() / ".reame" / "models"


def configured_manifest(settings: ModelSettings) -> Manifest | None:
    """The manifest that ``[model] path`` names; ``None`` when it names a file."""
    if not _may_be_name(settings.model.path) or _as_file(settings).is_file():
        return None
    return try_find(settings.model.path, load_manifests())


def resolve_model(settings: ModelSettings, environ: Mapping[str, str] | None = None) -> Path:
    """The GGUF to serve: a file, or the one of a manifest in the models directory.

    Raises:
        ModelNotFoundError: it is not there; says what was tried and how to get it.
    """
    path = _as_file(settings)
    if path.is_file():
        return path
    directory = models_directory(settings, environ)
    manifest = configured_manifest(settings)
    if manifest is None:
        raise ModelNotFoundError(_missing_file(settings, path, directory))
    path = directory / manifest.file
    if path.is_file():
        return path
    raise ModelNotFoundError(
        f"[model] path = {settings.model.path}: {manifest.title} is not here yet ({path}); "
        f"{_present(directory)}. Fetch it: reame pull {manifest.name}"
    )


def _as_file(settings: ModelSettings) -> Path:
    return settings.base / Path(settings.model.path).expanduser()


def _may_be_name(text: str) -> bool:
    return os.sep not in text and not text.lower().endswith(".gguf")


def _missing_file(settings: ModelSettings, path: Path, directory: Path) -> str:
    start = f"the folder of {settings.source}" if settings.source is not None else "the working directory"
    written = settings.model.path
    parts = [
        f"[model] path = {written}: no file {path}",
        f"relative paths start at {start}, {settings.base}",
        "; ".join(dict.fromkeys([_present(path.parent), _present(directory)])),
    ]
    if _may_be_name(written):
        parts[0] += ", and no model of that name in the catalog"
    return "; ".join(parts) + f". {_how_to_get(path.name)}"


def _how_to_get(name: str) -> str:
    """The command that fetches the file, as far as it is known."""
    known = next((m.name for m in load_manifests() if m.file.casefold() == name.casefold()), None)
    if known is not None:
        return f"Fetch it: reame pull {known} (and set path = {known}, or the file's path)"
    return "Fetch a model: reame pull NAME (reame models lists the names), and set path = NAME"


def _present(directory: Path) -> str:
    try:
        names = sorted(entry.name for entry in directory.iterdir() if entry.name.lower().endswith(".gguf"))
    except OSError:
        return f"there is no folder {directory}"
    if not names:
        return f"{directory} holds no .gguf file"
    more = f" and {len(names) - _SHOWN_FILES} more" if len(names) > _SHOWN_FILES else ""
    return f"{directory} holds {', '.join(names[:_SHOWN_FILES])}{more}"
