"""A generation request, typed: what the client wants before anything is tokenized. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reame.api.fields import Fields
from reame.api.messages import Message, parse_messages
from reame.api.prompts import RawPrompt, parse_prompts
from reame.api.refused import CHAT, COMPLETION, refuse_tools, refuse_unsupported
from reame.api.sampling import parse_sampling, parse_stop
from reame.errors import InvalidRequestError
from reame.types import SamplingParams

MAX_CHOICES = 16
MAX_SEQUENCES = 256


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """Messages for the chat template."""

    messages: tuple[Message, ...]
    template_kwargs: Mapping[str, object]
    add_generation_prompt: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to generate. ``max_tokens`` of ``None`` is everything that fits the context.

    ``num_choices`` are generated for each of ``prompts``. ``echo`` repeats the prompt's text in
    front of the answer.
    """

    prompts: tuple[ChatPrompt | RawPrompt, ...]
    sampling: SamplingParams
    stop: tuple[str, ...]
    max_tokens: int | None
    num_choices: int
    ignore_eos: bool
    stream: bool
    include_usage: bool
    continuous_usage: bool
    echo: bool = False

    @property
    def num_sequences(self) -> int:
        """One for each prompt and choice."""
        return len(self.prompts) * self.num_choices


def parse_chat(fields: Fields, vocab_size: int) -> Wanted:
    """Read the body of ``/chat/completions``.

    Raises:
        InvalidRequestError: names the field at fault.
    """
    messages = parse_messages(fields)
    refuse_tools(fields)
    refuse_unsupported(fields, CHAT)
    prompt = ChatPrompt(messages, _template_kwargs(fields), fields.boolean("add_generation_prompt", True))
    newer = fields.integer("max_completion_tokens", 1)
    older = fields.integer("max_tokens", 1)
    return _wanted(fields, (prompt,), vocab_size, newer if newer is not None else older)


def parse_completion(fields: Fields, vocab_size: int) -> Wanted:
    """Read the body of ``/completions``.

    Raises:
        InvalidRequestError: names the field at fault.
    """
    prompts = parse_prompts(fields, vocab_size)
    refuse_unsupported(fields, COMPLETION)
    _check_best_of(fields)
    echo = fields.boolean("echo")
    return _wanted(fields, prompts, vocab_size, fields.integer("max_tokens", 0), echo)


def _wanted(
    fields: Fields,
    prompts: tuple[ChatPrompt | RawPrompt, ...],
    vocab_size: int,
    max_tokens: int | None,
    echo: bool = False,
) -> Wanted:
    options = fields.object("stream_options") or Fields({})
    num_choices = _num_choices(fields)
    if num_choices * len(prompts) > MAX_SEQUENCES:
        raise InvalidRequestError(
            f"'prompt' and 'n' ask for {num_choices * len(prompts)} answers; at most {MAX_SEQUENCES} fit "
            "one request.",
            param="prompt",
        )
    return Wanted(
        prompts=prompts,
        sampling=parse_sampling(fields, vocab_size),
        stop=parse_stop(fields),
        max_tokens=max_tokens,
        num_choices=num_choices,
        ignore_eos=fields.boolean("ignore_eos"),
        stream=fields.boolean("stream"),
        include_usage=options.boolean("include_usage"),
        continuous_usage=options.boolean("continuous_usage_stats"),
        echo=echo,
    )


def _num_choices(fields: Fields) -> int:
    num_choices = fields.integer("n", 1, MAX_CHOICES)
    return 1 if num_choices is None else num_choices


def _check_best_of(fields: Fields) -> None:
    """Picking the best of several needs logprobs; as many as are returned need no picking."""
    best_of = fields.integer("best_of", 1)
    if best_of is not None and best_of != _num_choices(fields):
        raise InvalidRequestError(
            "'best_of' other than 'n' is not supported in this version of reame.",
            param="best_of",
            code="unsupported_parameter",
        )


def _template_kwargs(fields: Fields) -> dict[str, object]:
    """Template variables; two common ones may also stand beside ``messages``."""
    given = fields.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise fields.wrong("chat_template_kwargs", "an object")
    kwargs: dict[str, object] = dict(given or {})
    if fields.get("enable_thinking") is not None:
        kwargs.setdefault("enable_thinking", fields.boolean("enable_thinking"))
    if (effort := fields.string("reasoning_effort")) is not None:
        kwargs.setdefault("reasoning_effort", effort)
    return kwargs
