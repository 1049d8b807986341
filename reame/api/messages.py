"""Checks chat messages and keeps of them what a template may read. Pure."""

from __future__ import annotations

from reame.api.fields import Fields, shown
from reame.errors import InvalidRequestError

Message = dict[str, object]

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_STRINGS = ("name", "tool_call_id", "reasoning_content")


def parse_messages(fields: Fields) -> tuple[Message, ...]:
    """Read ``messages``: at least one, each with a known role and text.

    Raises:
        InvalidRequestError: names the message and field at fault.
    """
    listed = fields.array("messages")
    if not listed:
        raise InvalidRequestError("'messages' must be a list of at least one message.", param="messages")
    return tuple(_message(value, f"messages[{number}]") for number, value in enumerate(listed))


def _message(value: object, where: str) -> Message:
    if not isinstance(value, dict):
        raise InvalidRequestError(f"'{where}' must be an object, not {shown(value)}.", param=where)
    fields = Fields(value, f"{where}.")
    role = fields.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise fields.wrong("role", f"one of {', '.join(ROLES)}")
    message: Message = {"role": role, "content": _content(fields)}
    for name in _STRINGS:
        if (text := fields.string(name)) is not None:
            message[name] = text
    if calls := fields.array("tool_calls"):
        message["tool_calls"] = [_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(calls)]
    return message


def _content(fields: Fields) -> object:
    content = fields.get("content")
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise fields.wrong("content", "a string, null or a list of text parts")
    where = fields.path("content")
    return [{"type": "text", "text": _part(part, f"{where}[{i}]")} for i, part in enumerate(content)]


def _part(part: object, where: str) -> str:
    """A part's text; an assistant's refusal, sent back as history, is text too."""
    if not isinstance(part, dict):
        raise InvalidRequestError(f"'{where}' must be a text part, not {shown(part)}.", param=where)
    kind = part.get("type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind not in ("text", "input_text", "refusal"):
        raise InvalidRequestError(
            f"'{where}' is a part of type {shown(kind)}, but the served model reads text only. "
            "Send parts of type 'text'.",
            param=where,
        )
    if not isinstance(text, str):
        raise InvalidRequestError(f"'{where}.text' must be a string, not {shown(text)}.", param=where)
    return text


def _call(call: object, where: str) -> object:
    """A past tool call: templates read the name and the arguments of its function."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidRequestError(f"'{where}' must be an object with a function and its name.", param=where)
    if not isinstance(function.get("arguments"), str | dict | None):
        raise InvalidRequestError(f"'{where}.function.arguments' must be a string of JSON.", param=where)
    return call
