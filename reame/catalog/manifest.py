"""Manifests: what is known of the models that ``reame pull NAME`` fetches."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from reame.catalog.references import parse_reference
from reame.errors import ConfigError

_PACKAGED = Path(__file__).resolve().parent.parent / "manifests"
_IN_PROJECT = Path(__file__).resolve().parent.parent.parent / "models"


def _as_parts(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Parts = Annotated[tuple[str, ...], BeforeValidator(_as_parts), Field(min_length=1)]
"""References whose contents follow each other; most sources have one."""


class Manifest(BaseModel):
    """One model. ``sources`` are tried in order.

    ``size`` and ``sha256`` are absent when nobody could vouch for them; then only the GGUF's own
    structure is checked, and ``reame models`` says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    aliases: tuple[str, ...] = ()
    title: str
    family: str
    licence: str
    file: str = Field(pattern=r"^[\w][\w.-]*\.gguf$")
    sources: tuple[Parts, ...] = Field(min_length=1)
    size: int | None = Field(None, gt=0)
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    context_length: int = Field(gt=0)
    template: str = ""

    @field_validator("sources")
    @classmethod
    def _sources_parse(cls, sources: tuple[Parts, ...]) -> tuple[Parts, ...]:
        for parts in sources:
            for part in parts:
                try:
                    parse_reference(part)
                except ConfigError as error:
                    raise ValueError(error.message) from error
        return sources

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and aliases."""
        return (self.name, *self.aliases)


def load_manifest(path: Path) -> Manifest:
    """Read one manifest.

    Raises:
        ConfigError: it is not one; names the file and the field.
    """
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"manifest {path}: {field}: {first['msg']}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"manifest {path}: {error}") from error


def manifest_directory() -> Path:
    """Where the manifests are: in the installed package, or in the project's folder."""
    return _PACKAGED if _PACKAGED.is_dir() else _IN_PROJECT


def load_manifests(directory: Path | None = None) -> tuple[Manifest, ...]:
    """All manifests by name.

    Raises:
        ConfigError: one of them is damaged.
    """
    folder = directory if directory is not None else manifest_directory()
    return tuple(sorted((load_manifest(path) for path in folder.glob("*.toml")), key=lambda m: m.name))
