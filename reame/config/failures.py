"""Words for values that are not accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, SecretStr, ValidationError

from reame.config.ini import Entry, label

_NOT_CALLED = "default_factory_not_called"  # a default that depends on a value reported already


def describe(error: ValidationError, section: type[BaseModel], entries: Mapping[str, Entry]) -> Iterator[str]:
    """One line for each fault: where it is, the key, its value unless secret, what is accepted."""
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        entry = entries.get(str(fault["loc"][0])) if fault["loc"] else None
        if entry is None or fault["type"] == _NOT_CALLED:
            continue
        shown = "" if _is_secret(section, entry.key) else f" = {entry.value}"
        accepted = _accepted(fault["msg"]) + _hint(entry.value)
        yield f"{entry.origin}: {label(entry.section, entry.key)}{shown}: {accepted}"


def _accepted(message: str) -> str:
    message = message.removeprefix("Value error, ").partition(", unable to")[0]
    return message.replace("Input should be", "it must be", 1).replace("String should", "it must", 1)


def _hint(value: str) -> str:
    has_comment = any(mark in value for mark in (" #", " ;", "\t#", "\t;"))
    return " (a comment needs a line of its own)" if has_comment else ""


def _is_secret(section: type[BaseModel], key: str) -> bool:
    return SecretStr.__name__ in str(section.model_fields[key].annotation)
