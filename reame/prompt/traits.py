"""Learns what a template does with messages by letting it write a few."""

from __future__ import annotations

from collections.abc import Mapping

from reame.errors import InvalidRequestError
from reame.prompt.messages import TemplateTraits
from reame.prompt.template import ChatTemplate

_PROBE = "reame asks"


def probe_traits(template: ChatTemplate) -> TemplateTraits:
    """Find the form of messages whose text arrives in the prompt."""
    as_text, as_parts = _PROBE, [{"type": "text", "text": _PROBE}]
    wants_parts = not _writes(template, _user(as_text)) and _writes(template, _user(as_parts))
    content: object = as_parts if wants_parts else as_text
    other: object = [{"type": "text", "text": "x"}] if wants_parts else "x"
    return TemplateTraits(
        takes_system=_writes(template, {"role": "system", "content": content}, _user(other)),
        knows_developer="developer" in template.source
        and _writes(template, {"role": "developer", "content": content}, _user(other)),
        wants_parts=wants_parts,
    )


def _user(content: object) -> Mapping[str, object]:
    return {"role": "user", "content": content}


def _writes(template: ChatTemplate, *messages: Mapping[str, object]) -> bool:
    try:
        return _PROBE in template.render(messages)
    except InvalidRequestError:
        return False
