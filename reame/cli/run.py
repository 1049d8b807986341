"""``reame run``: a conversation in the terminal, without Ray."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reame.cli.conf import ConfigOption, load_config
from reame.cli.fetch import ensure_model
from reame.config import Settings
from reame.engine.planner import plan_engine
from reame.types import SamplingParams


def run(
    model: Annotated[str, typer.Argument(metavar="NAME|PATH", help="A manifest's name or a .gguf file.")],
    prompt: Annotated[
        str | None, typer.Argument(help="Answer this and end; without it, a conversation.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")] = 512,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0, help="0 takes the likeliest token.")] = 0.8,
    system: Annotated[str | None, typer.Option(help="System message.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes sampling repeatable.")] = None,
    config: ConfigOption = None,
) -> None:
    """Talk to a model in the terminal."""
    settings = settings_for(load_config(config)[1], model)
    path = ensure_model(settings)
    options = replace(plan_engine(settings), num_slots=1, log_level="error")
    from reame.cli.chat import Chat
    from reame.cli.talk import converse, one_shot
    from reame.logs import setup_logging

    setup_logging("error", settings.logging.format)
    sampling = SamplingParams(temperature=temperature, seed=seed)
    if prompt is None and not sys.stdin.isatty():
        prompt = sys.stdin.read()
    with Chat(
        path,
        options,
        template=settings.model.chat_template,
        system=system,
        sampling=sampling,
        max_tokens=max_tokens,
    ) as chat:
        if prompt is not None:
            one_shot(chat, prompt)
        else:
            converse(chat)


def settings_for(settings: Settings, model: str) -> Settings:
    """``settings`` for another model: what they say of the configured one does not hold for it."""
    is_file = os.sep in model or model.endswith(".gguf") or Path(model).is_file()
    path = str(Path(model).expanduser().absolute()) if is_file else model
    section = settings.model.model_copy(
        update={"path": path, "name": None, "context_length": None, "chat_template": None}
    )
    return settings.model_copy(update={"model": section})
