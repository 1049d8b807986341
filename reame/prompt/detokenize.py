"""Bytes of tokens to text. Pure; standard library only."""

from __future__ import annotations

from codecs import utf_8_decode


class IncrementalDecoder:
    """UTF-8 decoder for pieces that may end inside a character.

    Whatever the pieces, the texts together equal ``whole.decode("utf-8", "replace")``: bytes
    that can still become a character are kept back, and bytes that no longer can become
    U+FFFD as soon as that is certain.
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, piece: bytes) -> str:
        """Take the next bytes and return the characters that are complete."""
        data = self._pending + piece if self._pending else piece
        text, num_used = utf_8_decode(data, "replace", False)
        self._pending = data[num_used:]
        return text

    def flush(self) -> str:
        """End the text: an unfinished character becomes U+FFFD."""
        pending, self._pending = self._pending, b""
        return pending.decode("utf-8", "replace")
