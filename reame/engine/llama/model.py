"""A model's weights and vocabulary."""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp.llama_cpp as lib

from reame.engine.llama.library import log_callback
from reame.engine.options import EngineOptions
from reame.errors import ModelInvalidError
from reame.types import TokenId


class Model:
    """Weights in memory, read only; shared by nothing but this process."""

    def __init__(self, options: EngineOptions) -> None:
        lib.llama_log_set(log_callback, None)
        lib.llama_backend_init()
        params = lib.llama_model_default_params()
        params.use_mmap = options.use_mmap
        params.use_mlock = options.use_mlock
        self._pointer = lib.llama_model_load_from_file(str(options.model_path).encode(), params)
        if not self._pointer:
            raise ModelInvalidError(
                f"llama.cpp cannot load {options.model_path}: the file is damaged or its architecture is "
                "newer than this build; its log above says which"
            )
        self.vocab = lib.llama_model_get_vocab(self._pointer)
        self.vocab_size = int(lib.llama_vocab_n_tokens(self.vocab))
        self.context_length_trained = int(lib.llama_model_n_ctx_train(self._pointer))
        self.num_parameters = int(lib.llama_model_n_params(self._pointer))
        self.size_bytes = int(lib.llama_model_size(self._pointer))
        self.eog_ids = frozenset(i for i in range(self.vocab_size) if lib.llama_vocab_is_eog(self.vocab, i))

    @property
    def pointer(self) -> Any:
        """The ``llama_model *``; valid until :meth:`close`."""
        return self._pointer

    def piece(self, token: TokenId) -> bytes:
        """The bytes a user sees for ``token``; control tokens show nothing."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            written = int(lib.llama_token_to_piece(self.vocab, token, buffer, size, 0, False))
            if written >= 0:
                return buffer.raw[:written]
            size = -written

    def close(self) -> None:
        """Free the weights; every context must be closed before."""
        lib.llama_model_free(self._pointer)
