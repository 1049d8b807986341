"""Keeps control tokens in the template's hands: what users write stays plain text. Pure.

A template mixes its own text with the users' strings, and only the result is tokenized. So a
user who writes ``<|im_end|>``, or a half of it where the template or another user's string has
the other half, could end a turn and begin another. Three renderings tell whose a control token
is, and most prompts need only the first:

1. as is, for prompts whose strings hold no character that begins or ends a control token;
2. with a mark, a character that occurs nowhere else, inside each control token that a user
   wrote in full. The template still sees everything else, such as ``</think>``, as it is;
3. with a mark behind each such beginning and before each such end in the users' strings.
   Here no control token can hold a user's first or last character.

When 2 and 3 hold the same control tokens, all of them are the template's, and 2 is the prompt.
Otherwise one was put together across a border, and 3 is the prompt. Marks are dropped after
the control tokens were cut out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from reame.errors import InvalidRequestError
from reame.prompt.specials import SpecialTokens
from reame.types import TokenId

TRUSTED_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
"""Roles that a template may put inside a control token, as in ``<|user|>``."""

# Letters without case and with a glyph: no filter strips, changes or escapes them.
_MARKS = range(0xA000, 0x323B0)


@dataclass(frozen=True, slots=True)
class TemplateInput:
    """All that users bring to a template: JSON values."""

    messages: list[dict[str, object]]
    tools: object = None
    extra: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt. ``parts`` are plain text and the template's control tokens; ``None`` when all
    control tokens in ``text`` are the template's."""

    text: str
    parts: tuple[str | TokenId, ...] | None


def render_safely(
    render: Callable[[TemplateInput], str],
    given: TemplateInput,
    specials: SpecialTokens,
    template_chars: frozenset[str],
) -> Rendered:
    """Render ``given`` so that no control token holds text of a user.

    Raises:
        InvalidRequestError: the input is not JSON, or uses every character that could be a mark.
    """
    plain = render(given)
    strings = list(_strings(given))
    if not any(specials.may_touch(text) for text in strings):
        return Rendered(plain, None)
    mark = _unused_mark(template_chars.union(plain, *strings))
    without_control = _mapped(given, lambda text, _: specials.break_up(text, mark))
    broken = plain if without_control == given else render(without_control)
    walled = render(_mapped(given, lambda text, is_key: _walled(text, is_key, mark, specials)))
    parts, safe_parts = specials.split_control(broken), specials.split_control(walled)
    is_sound = _control_ids(parts) == _control_ids(safe_parts)
    if is_sound and mark not in broken:
        return Rendered(broken, None)
    chosen, text = (parts, broken) if is_sound else (safe_parts, walled)
    return Rendered(text.replace(mark, ""), tuple(_without(mark, chosen)))


def _walled(text: str, is_key: bool, mark: str, specials: SpecialTokens) -> str:
    walled = specials.wall_off(text, mark)
    return walled + mark if not is_key and specials.may_enclose(text) else walled


def _control_ids(parts: list[str | TokenId]) -> list[TokenId]:
    return [part for part in parts if not isinstance(part, str)]


def _without(mark: str, parts: list[str | TokenId]) -> Iterator[str | TokenId]:
    for part in parts:
        cleaned = part.replace(mark, "") if isinstance(part, str) else part
        if cleaned != "":
            yield cleaned


def _unused_mark(used: frozenset[str]) -> str:
    for code in _MARKS:
        char = chr(code)
        if char.isalpha() and char.isprintable() and char not in used:
            return char
    raise InvalidRequestError("the messages use every letter there is")


_Change = Callable[[str, bool], str]
"""Changes a string; the second argument says whether it is a mapping's key."""


def _mapped(given: TemplateInput, change: _Change) -> TemplateInput:
    return replace(
        given,
        messages=[_mapped_message(message, change) for message in given.messages],
        tools=_mapped_value(given.tools, change),
        extra={key: _mapped_value(value, change) for key, value in given.extra.items()},
    )


def _mapped_message(message: dict[str, object], change: _Change) -> dict[str, object]:
    role = message.get("role")
    rest = {change(k, True): _mapped_value(v, change) for k, v in message.items() if k != "role"}
    return {"role": role if role in TRUSTED_ROLES else _mapped_value(role, change), **rest}


def _mapped_value(value: object, change: _Change) -> object:
    if isinstance(value, str):
        return change(value, False)
    if isinstance(value, Mapping):
        return {change(k, True): _mapped_value(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped_value(item, change) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise InvalidRequestError(f"a template cannot be given a {type(value).__name__}", param="messages")


def _strings(given: TemplateInput) -> Iterator[str]:
    """Every string that :func:`_mapped` would change."""
    seen: list[str] = []

    def note(text: str, _is_key: bool) -> str:
        seen.append(text)
        return text

    _mapped(given, note)
    yield from seen
