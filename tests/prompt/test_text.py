"""Tokens of one sequence become the text that is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.prompt import TextStream, Tokenizer

from .vocab import DEMO_TEXT

PARROT = "🦜".encode()
PIECES = [b"Hi ", PARROT[:2], PARROT[2:], b"EN", b"D", b"!", b"\xff"]


def _run(tokens: list[int], stops: list[str]) -> tuple[list[str], bool]:
    stream = TextStream(PIECES.__getitem__, stops)
    shown = [stream.push(token) for token in tokens]
    return [*shown, stream.finish()], stream.stopped


def test_character_and_stop_string_over_tokens() -> None:
    """A character and a stop string cut over tokens are each handled whole."""
    assert _run([0, 1, 2, 3, 4, 5], ["END"]) == (["Hi ", "", "🦜", "", "", "", ""], True)


def test_stop_string_of_an_emoji_in_two_tokens() -> None:
    """A stop string may be a character that comes in pieces of bytes."""
    assert _run([0, 1, 2], ["🦜"]) == (["Hi ", "", "", ""], True)


def test_finish_gives_held_text_and_unfinished_bytes() -> None:
    """The end releases the held beginning of a stop string and replaces half a character."""
    assert _run([3, 1], ["END"]) == (["", "", "EN\ufffd"], False)


def test_finish_twice_gives_nothing_more() -> None:
    """The held text is given once."""
    stream = TextStream(PIECES.__getitem__, ["END"])
    stream.push(3)
    assert (stream.finish(), stream.finish()) == ("EN", "")


@given(st.lists(st.integers(0, len(PIECES) - 1)))
def test_without_stops_the_text_is_all_bytes(tokens: list[int]) -> None:
    """Without stop strings the pieces are the bytes decoded at once."""
    shown, stopped = _run(tokens, [])
    assert not stopped
    assert "".join(shown) == b"".join(PIECES[token] for token in tokens).decode("utf-8", "replace")


@pytest.mark.model
@given(DEMO_TEXT)
def test_demo_model_streams_what_it_encodes(demo: Tokenizer, text: str) -> None:
    """The ids of any text, pushed one by one, show the text again."""
    stream = TextStream(demo.visible_piece, [])
    ids = demo.encode(text, add_bos=False, parse_special=False)
    assert "".join(stream.push(i) for i in ids) + stream.finish() == text
