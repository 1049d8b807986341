"""OpenAI messages to what a template can read. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reame.errors import InvalidRequestError

Message = dict[str, object]


@dataclass(frozen=True, slots=True)
class TemplateTraits:
    """What a template does with messages.

    ``takes_system``: it writes a system message's text. ``knows_developer``: it tells the role
    ``developer`` from others. ``wants_parts``: it reads content as a list of parts only.
    """

    takes_system: bool = True
    knows_developer: bool = False
    wants_parts: bool = False


def for_template(messages: Iterable[Mapping[str, object]], traits: TemplateTraits) -> list[Message]:
    """Bring messages into the form that the template reads.

    Text parts become one string with line breaks between them, ``null`` an empty string, and
    the arguments of tool calls an object where they are valid JSON. ``developer`` becomes
    ``system`` for a template that does not know it. For one that takes no system message, its
    text goes in front of the next user message.

    Raises:
        InvalidRequestError: a part is not text, or a message has no role.
    """
    plain = [_plain(message, traits) for message in messages]
    if not traits.takes_system:
        plain = _fold_system(plain)
    if traits.wants_parts:
        plain = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in plain]
    return plain


def _plain(message: Mapping[str, object], traits: TemplateTraits) -> Message:
    role = message.get("role")
    if not isinstance(role, str):
        raise InvalidRequestError("a message needs a role", param="messages")
    known: Message = {k: v for k, v in message.items() if v is not None}
    known["role"] = "system" if role == "developer" and not traits.knows_developer else role
    known["content"] = _text(message.get("content"))
    if isinstance(calls := known.get("tool_calls"), list):
        known["tool_calls"] = [_with_parsed_arguments(call) for call in calls]
    return known


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(_part_text(part) for part in content)
    raise InvalidRequestError("a message's content must be a string or a list of parts", param="messages")


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(text, str):
        raise InvalidRequestError("only text parts are supported in a message's content", param="messages")
    return text


def _with_parsed_arguments(call: object) -> object:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return call
    arguments = _parsed(function.get("arguments"))
    return {**call, "function": {**function, "arguments": arguments}}


def _parsed(arguments: object) -> object:
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return parsed if isinstance(parsed, dict) else arguments


def _fold_system(messages: list[Message]) -> list[Message]:
    folded: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "system":
            waiting.append(str(message["content"]))
        elif message["role"] == "user" and waiting:
            folded.append({**message, "content": "\n\n".join([*waiting, str(message["content"])])})
            waiting = []
        else:
            folded.append(message)
    if waiting:
        folded.append({"role": "user", "content": "\n\n".join(waiting)})
    return folded
