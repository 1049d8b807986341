"""What the terminal shows of a conversation: answers, the prompt, commands."""

from __future__ import annotations

import sys
from contextlib import suppress

from reame.cli.chat import Chat
from reame.errors import ContextLengthError
from reame.types import Finish

_HELP = "Ctrl-C stops an answer, /reset forgets the conversation, /exit or Ctrl-D ends."


def one_shot(chat: Chat, prompt: str) -> None:
    """Print one answer; on a terminal also what it took."""
    finish = chat.ask(prompt, _show)
    print()
    if finish is not None and sys.stderr.isatty():
        print(f"\033[2m{stats_line(finish)}\033[0m", file=sys.stderr)


def converse(chat: Chat) -> None:
    """Read lines and answer them until ``/exit`` or the end of the input."""
    with suppress(ImportError):
        import readline  # noqa: F401 - importing it gives input() line editing and history
    print(_HELP, file=sys.stderr)
    while (line := _read_line()) is not None:
        match line.strip():
            case "":
                continue
            case "/exit" | "/quit":
                return
            case "/reset":
                chat.reset()
                print("The conversation is forgotten.", file=sys.stderr)
            case "/help":
                print(_HELP, file=sys.stderr)
            case text:
                _answer(chat, text)


def _answer(chat: Chat, text: str) -> None:
    try:
        chat.ask(text, _show)
    except KeyboardInterrupt:
        print(" [stopped]", end="", file=sys.stderr)
    except ContextLengthError as error:
        print(f"{error.message} /reset starts afresh.", file=sys.stderr)
    print()


def _read_line() -> str | None:
    while True:
        try:
            return input(">>> ")
        except EOFError:
            print()
            return None
        except KeyboardInterrupt:
            print("\nCtrl-D or /exit ends.", file=sys.stderr)


def _show(text: str) -> None:
    print(text, end="", flush=True)


def stats_line(finish: Finish) -> str:
    """Tokens and speeds of one answer."""
    timings = finish.timings
    return (
        f"{finish.num_prompt_tokens} prompt tokens at {_speed(timings.prompt_n, timings.prompt_ms)}, "
        f"{finish.num_generated_tokens} generated at {_speed(timings.predicted_n, timings.predicted_ms)}"
    )


def _speed(tokens: int, milliseconds: float) -> str:
    return f"{1000 * tokens / milliseconds:.1f} tokens/s" if milliseconds > 0 else "no measurable time"
