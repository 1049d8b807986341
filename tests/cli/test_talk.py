"""The conversation's terminal: answers, commands, Ctrl-C."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reame.cli.talk import converse, one_shot, stats_line
from reame.errors import ContextLengthError
from reame.types import Finish, FinishReason, Timings

FINISH = Finish(FinishReason.STOP, 10, 20, Timings(0, 10, 100, 20, 1000))


class FakeChat:
    """Answers in capitals; some words make it fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.num_resets = 0

    def ask(self, text: str, show: Callable[[str], None]) -> Finish:
        """Two pieces, or what the text asks for."""
        self.asked.append(text)
        show(text[:1].upper())
        if text == "interrupt":
            raise KeyboardInterrupt
        if text == "overflow":
            raise ContextLengthError(limit=8, num_prompt_tokens=9, max_tokens=1)
        show(text[1:].upper())
        return FINISH

    def reset(self) -> None:
        """Counted."""
        self.num_resets += 1


def _type(monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> Any:
    chat = FakeChat()
    typed: Iterator[str | type[BaseException]] = iter((*lines, EOFError))

    def read(_prompt: str) -> str:
        line = next(typed)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", read)
    converse(chat)  # type: ignore[arg-type]
    return chat


def test_one_shot_prints_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe gets the answer and a newline, no statistics."""
    one_shot(FakeChat(), "hello")  # type: ignore[arg-type]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("HELLO\n", "")


def test_lines_are_answered_until_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blank lines are skipped; Ctrl-D ends."""
    assert _type(monkeypatch, "one", "  ", " two ").asked == ["one", "two"]
    assert capsys.readouterr().out == "ONE\nTWO\n\n"


def test_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """/reset forgets, /help helps, /exit ends; none of them is sent to the model."""
    chat = _type(monkeypatch, "/help", "/reset", "one", "/exit", "two")
    assert (chat.asked, chat.num_resets) == (["one"], 1)


def test_ctrl_c_stops_the_answer_not_the_conversation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """During an answer and at the prompt alike, the next line is still read."""
    chat = _type(monkeypatch, "interrupt", KeyboardInterrupt, "next")
    assert chat.asked == ["interrupt", "next"]
    assert "[stopped]" in capsys.readouterr().err


def test_a_full_context_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The conversation stays; /reset is offered."""
    assert _type(monkeypatch, "overflow", "next").asked == ["overflow", "next"]
    assert "/reset" in capsys.readouterr().err


def test_stats_line() -> None:
    """Counts and speeds; a time of nothing is no division by zero."""
    assert stats_line(FINISH) == "10 prompt tokens at 100.0 tokens/s, 20 generated at 20.0 tokens/s"
    nothing = Finish(FinishReason.STOP, 1, 0, Timings())
    assert "no measurable time" in stats_line(nothing)
