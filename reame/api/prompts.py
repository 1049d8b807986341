"""The prompts of a completion: text or token ids, one or many. Pure."""

from __future__ import annotations

from typing import TypeGuard, cast

from reame.api.fields import Fields, shown, whole
from reame.errors import InvalidRequestError
from reame.types import TokenId

RawPrompt = str | tuple[TokenId, ...]

_ACCEPTED = "a string, a list of strings, a list of token ids or a list of such lists"


def parse_prompts(fields: Fields, vocab_size: int) -> tuple[RawPrompt, ...]:
    """Read ``prompt``, in the order of its list.

    Raises:
        InvalidRequestError: it is missing or empty, of another shape, or an id is not in the vocabulary.
    """
    value = fields.get("prompt")
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not value:
        raise fields.wrong("prompt", _ACCEPTED)
    if all(isinstance(item, str) for item in value):
        return tuple(str(item) for item in value)
    if all(isinstance(item, list) for item in value):
        return tuple(parse_ids(item, f"prompt[{i}]", vocab_size) for i, item in enumerate(value))
    return (parse_ids(value, "prompt", vocab_size),)


def parse_ids(
    values: object, where: str, vocab_size: int, *, may_be_empty: bool = False
) -> tuple[TokenId, ...]:
    """Read a list of token ids.

    Raises:
        InvalidRequestError: it is no list, or one of them is no id of the vocabulary.
    """
    if not isinstance(values, list) or not (values or may_be_empty):
        raise InvalidRequestError(f"'{where}' must be a list of token ids, not {shown(values)}.", param=where)
    if _are_ids(values, vocab_size):
        return tuple(values)
    ids: list[TokenId] = []
    for number, value in enumerate(values):
        token_id = whole(value)
        if token_id is None or not 0 <= token_id < vocab_size:
            raise InvalidRequestError(
                f"'{where}[{number}]' must be a token id from 0 to {vocab_size - 1}, not {shown(value)}.",
                param=where,
            )
        ids.append(token_id)
    return tuple(ids)


def _are_ids(values: list[object], vocab_size: int) -> TypeGuard[list[TokenId]]:
    """Whether all are plain ids. Runs in C: a body may hold millions."""
    if set(map(type, values)) != {int}:
        return False
    numbers = cast("list[int]", values)
    return min(numbers) >= 0 and max(numbers) < vocab_size
