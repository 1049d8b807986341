"""The served model's vocabulary, through llama.cpp. The only module of this layer that knows it."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as lib

from reame.errors import InvalidRequestError, ModelInvalidError, ModelNotFoundError
from reame.prompt.specials import SpecialToken, SpecialTokens
from reame.types import TokenId

_logger = logging.getLogger("reame.llama")
_LEVELS = {4: logging.WARNING}  # GGML_LOG_LEVEL_ERROR of ggml.h; everything else is chatter
_CONTROL = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
_SPECIAL = _CONTROL | lib.LLAMA_TOKEN_ATTR_USER_DEFINED
_MAX_TEXT_BYTES = 2**31 - 1
_MAX_NATIVE_SPECIALS = 256  # llama.cpp's time grows with their square: 40,000 took it 7 s


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _user_data: object) -> None:
    line = text.decode("utf-8", "replace").rstrip()
    if line:
        _logger.log(_LEVELS.get(level, logging.DEBUG), "%s", line)


class Tokenizer:
    """Text to ids and back, from a GGUF's vocabulary alone: no weights are loaded.

    Safe to use from several threads at once: llama.cpp only reads the vocabulary, and the
    piece tables are filled with values that do not depend on who fills them. :meth:`close`
    must come after every other call.
    """

    def __init__(self, path: Path) -> None:
        """Load the vocabulary of ``path``.

        Raises:
            ModelNotFoundError: no such file.
            ModelInvalidError: not a GGUF that this llama.cpp can read, or one without a vocabulary.
        """
        self._model = _load(path)
        self._vocab = lib.llama_model_get_vocab(self._model)
        self.vocab_size = int(lib.llama_vocab_n_tokens(self._vocab))
        if self.vocab_size == 0:
            self.close()
            raise ModelInvalidError(f"{path} holds no vocabulary")
        self.bos_id = self._id_or_none(lib.llama_vocab_bos(self._vocab))
        self.eos_id = self._id_or_none(lib.llama_vocab_eos(self._vocab))
        self.adds_bos = bool(lib.llama_vocab_get_add_bos(self._vocab)) and self.bos_id is not None
        self.metadata: Mapping[str, str] = dict(_read_metadata(self._model))
        self.chat_template = self._read_chat_template()
        self.eog_ids = frozenset(i for i in range(self.vocab_size) if lib.llama_vocab_is_eog(self._vocab, i))
        special_tokens = tuple(self._read_special_tokens())
        self.specials = SpecialTokens(special_tokens)
        self.control_texts = tuple(token.text for token in special_tokens if token.is_control)
        self._pieces: list[bytes | None] = [None] * self.vocab_size
        self._visible_pieces: list[bytes | None] = [None] * self.vocab_size

    def encode(self, text: str, *, add_bos: bool, parse_special: bool) -> list[TokenId]:
        """Turn ``text`` into ids; EOS is never added.

        ``add_bos`` puts BOS in front when the model wants one and ``text`` does not bring it.
        ``parse_special`` reads the texts of control tokens as these tokens; otherwise they are
        plain text.

        Raises:
            InvalidRequestError: ``text`` holds a lone surrogate, or is too long for llama.cpp.
        """
        if not parse_special:
            return self.encode_parts((text,), add_bos=add_bos)
        if self.specials.has_short_control or self.specials.count(text) > _MAX_NATIVE_SPECIALS:
            return self.encode_parts(self.specials.split_control(text), add_bos=add_bos)
        return self._with_bos(self._tokenize(text, True), add_bos)

    def encode_parts(self, parts: Iterable[str | TokenId], *, add_bos: bool) -> list[TokenId]:
        """Turn plain texts and ids between them into ids; no text becomes a control token.

        Raises:
            InvalidRequestError: as for :meth:`encode`.
        """
        ids: list[TokenId] = []
        for part in parts:
            if isinstance(part, str):
                ids += self._encode_plain(part)
            else:
                ids.append(part)
        return self._with_bos(ids, add_bos)

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool = False) -> str:
        """Turn ids into text, control tokens as their text, or as nothing with ``skip_special``.

        Bytes that are no UTF-8 become U+FFFD.

        Raises:
            InvalidRequestError: an id is not in the vocabulary.
        """
        if not ids:
            return ""
        self._check_ids(ids)
        array = (lib.llama_token * len(ids))(*ids)
        return _grown(
            lambda buffer, size: lib.llama_detokenize(
                self._vocab, array, len(ids), buffer, size, skip_special, not skip_special
            ),
            16 * len(ids),
        ).decode("utf-8", "replace")

    def piece(self, token_id: TokenId) -> bytes:
        """The bytes of one token, control tokens as their text.

        Raises:
            InvalidRequestError: the id is not in the vocabulary.
        """
        return self._piece(self._pieces, token_id, True)

    def visible_piece(self, token_id: TokenId) -> bytes:
        """The bytes of one token that a user sees: none for control tokens.

        Raises:
            InvalidRequestError: the id is not in the vocabulary.
        """
        return self._piece(self._visible_pieces, token_id, False)

    def is_eog(self, token_id: TokenId) -> bool:
        """Whether generation ends with this token."""
        return token_id in self.eog_ids

    def close(self) -> None:
        """Free the vocabulary; harmless when already freed."""
        if self._model is not None:
            lib.llama_model_free(self._model)
            self._model = None

    def text_of(self, token_id: TokenId | None) -> str:
        """The text that stands for a special token in a template; empty for ``None``."""
        return "" if token_id is None else self.piece(token_id).decode("utf-8", "replace")

    def _with_bos(self, ids: list[TokenId], add_bos: bool) -> list[TokenId]:
        if add_bos and self.adds_bos and self.bos_id is not None and ids[:1] != [self.bos_id]:
            ids.insert(0, self.bos_id)
        return ids

    def _encode_plain(self, text: str) -> list[TokenId]:
        if self.specials.count(text) <= _MAX_NATIVE_SPECIALS:
            return self._tokenize(text, False)
        ids: list[TokenId] = []
        for part in self.specials.split_user_defined(text):
            ids += self._tokenize(part, False) if isinstance(part, str) else [part]
        return ids

    def _tokenize(self, text: str, parse_special: bool) -> list[TokenId]:
        if not text:
            return []
        data = _utf8(text)
        capacity = len(data) + 16
        while True:
            buffer = (lib.llama_token * capacity)()
            count = int(
                lib.llama_tokenize(self._vocab, data, len(data), buffer, capacity, False, parse_special)
            )
            if count >= 0:
                return buffer[:count]
            if count == -(2**31):
                raise InvalidRequestError("the text is too long to tokenize")
            capacity = -count

    def _piece(self, table: list[bytes | None], token_id: TokenId, with_control: bool) -> bytes:
        known = table[token_id] if 0 <= token_id < self.vocab_size else None
        if known is None:
            self._check_ids((token_id,))
            known = table[token_id] = _grown(
                lambda buffer, size: lib.llama_token_to_piece(
                    self._vocab, token_id, buffer, size, 0, with_control
                ),
                64,
            )
        return known

    def _check_ids(self, ids: Sequence[TokenId]) -> None:
        worst = min(ids) if min(ids) < 0 else max(ids)
        if not 0 <= worst < self.vocab_size:
            raise InvalidRequestError(
                f"token id {worst} is not in the vocabulary: ids go from 0 to {self.vocab_size - 1}"
            )

    def _id_or_none(self, token_id: int) -> TokenId | None:
        return int(token_id) if 0 <= token_id < self.vocab_size else None

    def _read_chat_template(self) -> str | None:
        raw = lib.llama_model_chat_template(self._model, None)
        return raw.decode("utf-8", "replace") if raw else None

    def _read_special_tokens(self) -> Iterator[SpecialToken]:
        for token_id in range(self.vocab_size):
            attributes = lib.llama_vocab_get_attr(self._vocab, token_id)
            if attributes & _SPECIAL:
                text = lib.llama_vocab_get_text(self._vocab, token_id).decode("utf-8", "replace")
                if text:
                    yield SpecialToken(
                        token_id,
                        text,
                        is_control=bool(attributes & _CONTROL),
                        strips_left=bool(attributes & lib.LLAMA_TOKEN_ATTR_LSTRIP),
                        strips_right=bool(attributes & lib.LLAMA_TOKEN_ATTR_RSTRIP),
                    )


def _load(path: Path) -> Any:
    if not path.is_file():
        raise ModelNotFoundError(f"there is no model file at {path}")
    lib.llama_log_set(_log, None)
    lib.llama_backend_init()
    params = lib.llama_model_default_params()
    params.vocab_only = True
    model = lib.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise ModelInvalidError(
            f"llama.cpp cannot read the vocabulary of {path}: the file is damaged or newer than this build"
        )
    return model


def _read_metadata(model: Any) -> Iterator[tuple[str, str]]:
    for index in range(lib.llama_model_meta_count(model)):
        key = _printed(model, index, lib.llama_model_meta_key_by_index)
        yield key, _printed(model, index, lib.llama_model_meta_val_str_by_index)


def _printed(model: Any, index: int, read: Callable[[Any, int, Any, int], int]) -> str:
    """A text that C prints: it tells the full length, and needs a byte more for its end."""
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = int(read(model, index, buffer, size))
        if length < size:
            return buffer.raw[: max(length, 0)].decode("utf-8", "replace")
        size = length + 1


def _grown(write: Callable[[Any, int], int], size: int) -> bytes:
    """The bytes that ``write`` puts in a buffer; it tells a buffer too small by a negative size."""
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = int(write(buffer, size))
        if length >= 0:
            return buffer.raw[:length]
        size = -length


def _utf8(text: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"the text holds a lone surrogate (U+{ord(text[error.start]):04X}) at character {error.start}; "
            "it is no valid Unicode"
        ) from None
    if len(data) > _MAX_TEXT_BYTES:
        raise InvalidRequestError("the text is too long to tokenize")
    return data
