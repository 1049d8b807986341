"""Fields that would change the answer and are not supported: refused, never ignored. Pure.

A value that asks for nothing (``null``, ``false``, an empty list) passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reame.api.fields import Fields
from reame.errors import InvalidRequestError

Harmless = Callable[[object], bool]


def _nothing(value: object) -> bool:
    return value is False or value == "" or value == [] or value == {}


def _off_at(*neutral: float) -> Harmless:
    return lambda value: not isinstance(value, bool) and value in neutral


def _is_text_format(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") == "text"


def _text_only(value: object) -> bool:
    return value == ["text"]


_BOTH: Mapping[str, Harmless] = {
    "response_format": _is_text_format,
    "grammar": _nothing,
    "json_schema": _nothing,
    "guided_json": _nothing,
    "guided_regex": _nothing,
    "guided_choice": _nothing,
    "guided_grammar": _nothing,
    "structured_outputs": _nothing,
    "prompt_logprobs": _nothing,
    "n_probs": _off_at(0),
    "use_beam_search": _nothing,
    "min_tokens": _off_at(0),
    "stop_token_ids": _nothing,
    "truncate_prompt_tokens": _nothing,
    "best_of_consensus": _nothing,
    "typical_p": _off_at(1),
    "top_n_sigma": _off_at(-1, 0),
    "mirostat": _off_at(0),
    "dry_multiplier": _off_at(0),
    "xtc_probability": _off_at(0),
    "dynatemp_range": _off_at(0),
    "lora": _nothing,
}

CHAT: Mapping[str, Harmless] = {
    **_BOTH,
    "logprobs": _nothing,
    "top_logprobs": _off_at(0),
    "audio": _nothing,
    "modalities": _text_only,
    "web_search_options": lambda _: False,
    "documents": _nothing,
    "chat_template": _nothing,
    "continue_final_message": _nothing,
}

COMPLETION: Mapping[str, Harmless] = {**_BOTH, "logprobs": _nothing, "suffix": _nothing}
"""``logprobs`` of 0 asks for the chosen tokens' own, so it is refused too."""

_CALLS = (("tools", "tool_choice"), ("functions", "function_call"))


def refuse_unsupported(fields: Fields, table: Mapping[str, Harmless]) -> None:
    """Refuse what this version cannot do.

    Raises:
        InvalidRequestError: names the first such field.
    """
    for name in fields:
        if name in table and not table[name](fields.get(name)):
            raise unsupported(name)


def refuse_tools(fields: Fields) -> None:
    """Refuse tool calls; tools beside a choice of ``none`` could never be called, and pass.

    Raises:
        InvalidRequestError: a tool may or must be called.
    """
    for tools, choice in _CALLS:
        wish = fields.get(choice)
        if fields.array(tools) and wish != "none":
            raise unsupported(tools)
        if wish not in (None, "none", "auto"):
            raise unsupported(choice)


def unsupported(name: str) -> InvalidRequestError:
    """The error for a field that this version does not have."""
    noun = "tools are" if name in ("tools", "functions") else f"'{name}' is"
    return InvalidRequestError(
        f"{noun[0].upper()}{noun[1:]} not supported in this version of reame. "
        f"Leave '{name}' out of the request.",
        param=name,
        code="unsupported_parameter",
    )
