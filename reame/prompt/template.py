"""Chat templates: Jinja in a sandbox, with the helpers that model authors expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reame.errors import InvalidRequestError, ModelInvalidError

RESERVED = frozenset({"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"})
"""Variables that no request may set through template arguments."""

MAX_PROMPT_CHARS = 64 * 1024 * 1024
_MAX_REPEATED = 1_000_000
_MAX_EXPONENT = 64


class ChatTemplate:
    """A compiled chat template. Safe to use from several threads at once.

    The template comes with the model file, the messages from anybody. The sandbox keeps both
    from Python's internals, ``range`` and repetition are limited, and so is the size of the
    result. ``strftime_now`` knows the day but not the hour, so a template with a date changes
    its prompts, and loses their cached prefix, once a day.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        now: Callable[[], datetime] = datetime.now,
        max_chars: int = MAX_PROMPT_CHARS,
    ) -> None:
        """Compile ``source``.

        Raises:
            ModelInvalidError: it is no Jinja template.
        """
        self.source = source
        self._max_chars = max_chars
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        environment = _environment(now)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelInvalidError(f"the chat template does not compile: {error}") from error
        except RecursionError:
            raise ModelInvalidError("the chat template does not compile: it is nested too deeply") from None

    def render(
        self,
        messages: Iterable[Mapping[str, object]],
        *,
        tools: object = None,
        add_generation_prompt: bool = True,
        extra: Mapping[str, object] | None = None,
    ) -> str:
        """Write ``messages`` as one prompt.

        Raises:
            InvalidRequestError: the template refused them, failed, or wrote too much.
        """
        given = {
            **(extra or {}),
            **self._tokens,
            "messages": list(messages),
            "tools": tools,
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            return self._bounded(self._template.generate(given))
        except InvalidRequestError:
            raise
        except Exception as error:  # templates are programs: any of Python's errors can come out
            raise InvalidRequestError(
                f"the model's chat template cannot write these messages: {error}", param="messages"
            ) from error

    def _bounded(self, pieces: Iterable[str]) -> str:
        kept: list[str] = []
        num_left = self._max_chars
        for piece in pieces:
            num_left -= len(piece)
            if num_left < 0:
                raise InvalidRequestError(
                    f"the chat template wrote more than {self._max_chars} characters", param="messages"
                )
            kept.append(piece)
        return "".join(kept)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which also refuses to multiply short things into huge ones."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and isinstance(right, int) and abs(right) > _MAX_EXPONENT:
            raise SecurityError(f"an exponent over {_MAX_EXPONENT}")
        if operator == "*" and max(_repeated(left, right), _repeated(right, left)) > _MAX_REPEATED:
            raise SecurityError("a repetition that makes too much")
        return super().call_binop(context, operator, left, right)


def _repeated(sized: Any, times: Any) -> int:
    """How long ``sized * times`` gets; 0 when it is no repetition."""
    is_repetition = isinstance(times, int) and isinstance(sized, str | list | tuple)
    return len(sized) * times if is_repetition else 0


class _GenerationTag(Extension):
    """``{% generation %}`` marks the answers for training; here it means its content."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def _environment(now: Callable[[], datetime]) -> _Sandbox:
    environment = _Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[loopcontrols, _GenerationTag],
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda text: _midnight(now()).strftime(text)
    return environment


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _refuse(message: object) -> str:
    raise TemplateError(str(message))


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as model authors expect it: nothing escaped for HTML, keys in their order."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
