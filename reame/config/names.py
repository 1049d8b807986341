"""Which keys there are, and what the C++ Reame calls them. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from reame.config.effect import NO_EFFECT, Key
from reame.config.ini import Entry, label, unique
from reame.config.values import parse_bool
from reame.errors import ConfigError

RENAMED: Mapping[Key, Key] = {
    ("", "model_path"): ("model", "path"),
    ("model", "ubatch"): ("engine", "ubatch"),
    ("server", "enable_cors"): ("server", "cors_origins"),
}
"""Other names of keys: those of the C++ Reame, and the bare ``model_path``."""


def canonical(entries: Iterable[Entry], fields: Mapping[str, Iterable[str]]) -> tuple[Entry, ...]:
    """The entries that settings are made of, under our names.

    ``fields`` are the keys of each section. Keys that are accepted for the C++ Reame's sake and
    have no counterpart are left out.

    Raises:
        ConfigError: an unknown key, or one key under two names.
    """
    known = {(section, key) for section, keys in fields.items() for key in keys}
    kept: list[Entry] = []
    for entry in entries:
        key = (entry.section, entry.key)
        if key in RENAMED:
            kept.extend(_renamed(entry))
        elif key in known:
            kept.append(entry)
        elif key not in NO_EFFECT or key[1] == "*":
            raise ConfigError(f"{entry.origin}: {_unknown(key, known)}", param=entry.key)
    return unique(kept)


def _renamed(entry: Entry) -> Iterable[Entry]:
    section, key = RENAMED[entry.section, entry.key]
    if entry.key == "ubatch" and entry.value == "0":
        return  # there, 0 meant llama.cpp's default
    value = entry.value
    if entry.key == "enable_cors":
        try:
            value = "*" if parse_bool(value) else ""
        except ValueError as error:
            name = label(entry.section, entry.key)
            raise ConfigError(f"{entry.origin}: {name} = {value}: {error}", param=entry.key) from error
    yield replace(entry, section=section, key=key, value=value)


def _unknown(key: Key, known: Iterable[Key]) -> str:
    choices = {label(*name): name for name in [*known, *RENAMED, *(k for k in NO_EFFECT if k[1] != "*")]}
    return f"unknown key {label(*key)}{_hint(key, choices)}"


def _hint(key: Key, choices: Mapping[str, Key]) -> str:
    """The nearest key: the same one in another section first, then the most alike."""
    same = sorted(text for text, name in choices.items() if name[1] == key[1])
    here = [text for text, name in choices.items() if name[0] == key[0]]
    near = same or _near(key, here, choices) or difflib.get_close_matches(label(*key), choices, 1, 0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _near(key: Key, texts: list[str], choices: Mapping[str, Key]) -> list[str]:
    by_name = {choices[text][1]: text for text in texts}
    return [by_name[name] for name in difflib.get_close_matches(key[1], by_name, 1, 0.6)]
