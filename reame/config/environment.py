"""Overrides from the environment: ``REAME_<SECTION>__<KEY>``. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reame.config.ini import Entry

PREFIX = "REAME_"
SEPARATOR = "__"


def environment_entries(environ: Mapping[str, str]) -> tuple[Entry, ...]:
    """One entry for each override, in the order of the names.

    Variables without the separator (``REAME_CONFIG``) are no overrides.
    """
    entries = []
    for name in sorted(environ):
        section, separator, key = name.removeprefix(PREFIX).partition(SEPARATOR)
        if name.startswith(PREFIX) and separator and section and key:
            value = environ[name].strip()
            entries.append(Entry(section.lower(), key.lower(), value, f"environment variable {name}"))
    return tuple(entries)
