"""Pieces of bytes become text without split or lost characters."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reame.prompt import IncrementalDecoder


@st.composite
def cut_bytes(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> list[bytes]:
    """Bytes cut anywhere."""
    whole = draw(data)
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)))))
    edges = [0, *cuts, len(whole)]
    return [whole[a:b] for a, b in pairwise(edges)]


def _decode(pieces: list[bytes]) -> list[str]:
    decoder = IncrementalDecoder()
    return [*(decoder.feed(piece) for piece in pieces), decoder.flush()]


@given(cut_bytes(st.text().map(str.encode)))
def test_any_cut_of_any_text_gives_the_text_back(pieces: list[bytes]) -> None:
    """However the bytes of a text are cut, the text comes out, without a replacement of ours."""
    assert "".join(_decode(pieces)) == b"".join(pieces).decode()


@given(cut_bytes(st.binary()))
def test_any_cut_of_any_bytes_equals_decoding_at_once(pieces: list[bytes]) -> None:
    """Invalid bytes are replaced exactly as if they had come in one piece."""
    assert "".join(_decode(pieces)) == b"".join(pieces).decode("utf-8", "replace")


def test_emoji_in_four_pieces_comes_whole() -> None:
    """A character is shown when its last byte is there, not before."""
    assert _decode([bytes([byte]) for byte in "🦜".encode()]) == ["", "", "", "🦜", ""]


def test_joined_emoji_keeps_its_order() -> None:
    """An emoji of several code points comes code point by code point."""
    assert "".join(_decode([bytes([byte]) for byte in "👩‍👩‍👧".encode()])) == "👩‍👩‍👧"


def test_invalid_byte_is_replaced_when_certain() -> None:
    """A byte that cannot begin a character does not wait for the next piece."""
    assert _decode([b"a\xff", b"b"]) == ["a\ufffd", "b", ""]


def test_unfinished_character_is_replaced_at_the_end() -> None:
    """A character that never ends is one replacement, once."""
    decoder = IncrementalDecoder()
    assert decoder.feed("é".encode()[:1]) == ""
    assert decoder.flush() == "\ufffd"
    assert decoder.flush() == ""
