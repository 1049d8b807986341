"""All settings of a process, and how they come about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reame.config import sections
from reame.config.effect import notices
from reame.config.environment import environment_entries
from reame.config.failures import describe
from reame.config.ini import Entry, decode_conf, parse_ini
from reame.config.names import canonical
from reame.errors import ConfigError


class Settings(BaseModel):
    """Every section, frozen. ``source`` is the file they came from, if any.

    ``written`` holds (section, key) of what the user set, under the names that were used.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: sections.ModelSettings = Field(default_factory=sections.ModelSettings)
    server: sections.ServerSettings = Field(default_factory=sections.ServerSettings)
    engine: sections.EngineSettings = Field(default_factory=sections.EngineSettings)
    memory: sections.MemorySettings = Field(default_factory=sections.MemorySettings)
    cache: sections.CacheSettings = Field(default_factory=sections.CacheSettings)
    mirror: sections.MirrorSettings = Field(default_factory=sections.MirrorSettings)
    routing: sections.RoutingSettings = Field(default_factory=sections.RoutingSettings)
    speculative: sections.SpeculativeSettings = Field(default_factory=sections.SpeculativeSettings)
    security: sections.SecuritySettings = Field(default_factory=sections.SecuritySettings)
    logging: sections.LoggingSettings = Field(default_factory=sections.LoggingSettings)
    source: Path | None = None
    written: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> Path:
        """Where relative paths start: the file's folder, else the working directory."""
        return self.source.parent if self.source is not None else Path.cwd()

    def notices(self) -> tuple[str, ...]:
        """One line for each key that the user set and that has no effect in this version."""
        return notices(self.written)


SECTIONS: Mapping[str, type[sections.Section]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, sections.Section)
}
"""The class of each section."""


def load_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Defaults, overlaid by the file ``path``, overlaid by the environment.

    Raises:
        ConfigError: a file or variable is wrong; names the key, the place and what is accepted.
    """
    source = Path(path).expanduser().absolute() if path is not None else None
    in_file = parse_ini(_read(source), str(path)) if source is not None else ()
    in_environment = environment_entries(environ)
    fields = {name: section.model_fields for name, section in SECTIONS.items()}
    chosen = {
        (e.section, e.key): e for entries in (in_file, in_environment) for e in canonical(entries, fields)
    }
    base = source.parent if source is not None else Path.cwd()
    return Settings(
        **_validated(chosen.values(), base),
        source=source,
        written=tuple(dict.fromkeys((e.section, e.key) for e in (*in_file, *in_environment))),
    )


def _read(path: Path) -> str:
    try:
        return decode_conf(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error.strerror}") from error


def _validated(entries: Iterable[Entry], base: Path) -> dict[str, Any]:
    """Each section's model.

    Raises:
        ConfigError: with one line for each value that is not accepted.
    """
    written: dict[str, dict[str, Entry]] = {name: {} for name in SECTIONS}
    for entry in entries:
        written[entry.section][entry.key] = entry
    models: dict[str, Any] = {}
    faults: list[str] = []
    for name, section in SECTIONS.items():
        values = {key: entry.value for key, entry in written[name].items()}
        try:
            models[name] = section.model_validate(values, context={"base": base})
        except ValidationError as error:
            faults += describe(error, section, written[name])
    if faults:
        raise ConfigError("\n".join(faults))
    return models
