"""The INI dialect of ``reame.conf``, with line numbers. Pure; standard library only.

``[section]`` headers, ``key = value`` lines, comments that fill a whole line and begin with ``#``
or ``;``. Values are taken literally: no quotes, no interpolation, no comment behind a value. Keys
before the first header belong to the section ``""``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reame.errors import ConfigError

_BLANKS = " \t\r"


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting as written; ``origin`` says where: a file and line, or a variable."""

    section: str
    key: str
    value: str
    origin: str


def decode_conf(data: bytes, name: str) -> str:
    """Text of a configuration file; a UTF-8 byte order mark is dropped.

    Raises:
        ConfigError: not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}, line {line}: not UTF-8; save the file as UTF-8") from error


def parse_ini(text: str, name: str) -> tuple[Entry, ...]:
    """All settings of a file in their order; ``name`` is what errors call it.

    Raises:
        ConfigError: a line that is neither header, setting nor comment, or a key given twice.
    """
    entries: list[Entry] = []
    section = ""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        origin = f"{name}, line {number}"
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = _header(line, origin)
        else:
            entries.append(_setting(section, line, origin))
    return unique(entries)


def unique(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The same entries, if no key is set twice.

    Raises:
        ConfigError: one is; names both places.
    """
    seen: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        first = seen.setdefault((entry.section, entry.key), entry)
        if first is not entry:
            name = label(entry.section, entry.key)
            raise ConfigError(
                f"{entry.origin}: {name} is already set at {first.origin}; keep one", param=entry.key
            )
    return tuple(seen.values())


def label(section: str, key: str) -> str:
    """How messages write a key."""
    return f"[{section}] {key}" if section else key


def _header(line: str, origin: str) -> str:
    section = line[1:-1].strip(_BLANKS)
    if line[-1] != "]" or not section:
        raise ConfigError(f"{origin}: {line!r} is no section header; write [name]")
    return section


def _setting(section: str, line: str, origin: str) -> Entry:
    key, equals, value = line.partition("=")
    key = key.strip(_BLANKS)
    if not equals or not key:
        raise ConfigError(f"{origin}: expected 'key = value', found {line[:80]!r}")
    return Entry(section, key, value.strip(_BLANKS), origin)
