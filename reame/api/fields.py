"""Typed, range-checked reading of a JSON object's fields. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from reame.errors import InvalidRequestError

_INT64 = 2**63
_MAX_SHOWN = 40


class Fields:
    """A JSON object. ``null`` is absent everywhere; every fault names the field and what it takes.

    ``prefix`` is where the object stands in the body, such as ``messages[2].``.
    """

    __slots__ = ("_prefix", "_values")

    def __init__(self, values: Mapping[str, object], prefix: str = "") -> None:
        self._values = values
        self._prefix = prefix

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._values.items() if value is not None)

    def get(self, name: str) -> object:
        """The raw value; ``None`` when absent."""
        return self._values.get(name)

    def path(self, name: str) -> str:
        """Where the field stands in the body."""
        return f"{self._prefix}{name}"

    def wrong(self, name: str, accepted: str) -> InvalidRequestError:
        """The error for a field that is not ``accepted``."""
        value = self.get(name)
        path = self.path(name)
        return InvalidRequestError(f"'{path}' must be {accepted}, not {shown(value)}.", param=path)

    def integer(self, name: str, low: int = -_INT64, high: int = _INT64 - 1) -> int | None:
        """A whole number of ``low`` to ``high``; ``2.0`` is one, ``true`` is not."""
        value = self.get(name)
        if value is None:
            return None
        number = whole(value)
        if number is None or not low <= number <= high:
            raise self.wrong(name, f"an integer {_span(low, high)}")
        return number

    def number(self, name: str, low: float, high: float) -> float | None:
        """A finite number of ``low`` to ``high``."""
        value = self.get(name)
        if value is None:
            return None
        number = finite(value)
        if number is None or not low <= number <= high:
            raise self.wrong(name, f"a number from {low:g} to {high:g}")
        return number

    def boolean(self, name: str, default: bool = False) -> bool:
        """``true`` or ``false``."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def string(self, name: str) -> str | None:
        """A string."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def array(self, name: str) -> list[object] | None:
        """A list."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def object(self, name: str) -> Fields | None:
        """An object within this one."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(value, f"{self.path(name)}.")


def whole(value: object) -> int | None:
    """``value`` as an integer when it is a whole JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def finite(value: object) -> float | None:
    """``value`` as a float when it is a finite JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def shown(value: object) -> str:
    """A JSON value in a few words, safe to print however large it is."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return repr(value) if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]!r}..."
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "an object"


def _span(low: int, high: int) -> str:
    if high >= _INT64 - 1:
        return "of 64 bits" if low <= -_INT64 else f"of at least {low}"
    return f"from {low} to {high}"
