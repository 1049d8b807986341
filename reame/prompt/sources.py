"""Where a chat template comes from: the configuration, the GGUF, or a fallback of ours."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reame.errors import ConfigError

_logger = logging.getLogger(__name__)

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
PLAIN = (
    "{% for message in messages %}"
    "{{ message.role | capitalize + ': ' + message.content + '\\n\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


class TemplateOrigin(StrEnum):
    """Who wrote the template in use."""

    CONFIG = "config"
    GGUF = "gguf"
    CHATML = "chatml"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A template's text and who wrote it."""

    text: str
    origin: TemplateOrigin


def choose_template(
    configured: str | None, in_gguf: str | None, control_texts: Collection[str]
) -> TemplateSource:
    """Take the configured template, else the GGUF's, else one that the vocabulary can express.

    ``configured`` is a template, the path of a file that holds one, or ``chatml`` or ``plain``.

    Raises:
        ConfigError: ``configured`` names a file that cannot be read.
    """
    if configured:
        return TemplateSource(_configured_text(configured), TemplateOrigin.CONFIG)
    if in_gguf:
        return TemplateSource(in_gguf, TemplateOrigin.GGUF)
    if {"<|im_start|>", "<|im_end|>"} <= set(control_texts):
        fallback = TemplateSource(CHATML, TemplateOrigin.CHATML)
    else:
        fallback = TemplateSource(PLAIN, TemplateOrigin.PLAIN)
    _logger.warning(
        "the model file has no chat template; using %s instead, which the model may not know "
        "(set [model] chat_template)",
        fallback.origin.value,
    )
    return fallback


def _configured_text(configured: str) -> str:
    named = {"chatml": CHATML, "plain": PLAIN}.get(configured)
    if named is not None:
        return named
    if "{{" in configured or "{%" in configured:
        return configured
    try:
        return Path(configured).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"[model] chat_template: {configured} is neither a Jinja template nor a readable file: {error}"
        ) from error
