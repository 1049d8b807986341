"""KV cache and compute: what decodes a batch and holds the sequences."""

from __future__ import annotations

import ctypes
from enum import Enum
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np
import numpy.typing as npt

from reame.engine.llama.batch import Batch
from reame.engine.llama.library import aborting, logger, seq_pos_max, seq_rm
from reame.engine.llama.model import Model
from reame.engine.options import EngineOptions
from reame.errors import EngineError

_GGML_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 8}
_FLASH_ATTN_ENABLED = 1
_NUM_SCRATCH_SEQUENCES = 2


class DecodeStatus(Enum):
    """How ``llama_decode`` ended."""

    DONE = "done"
    NO_SPACE = "no_space"  # no free KV cells; nothing changed
    ABORTED = "aborted"  # by the abort flag; the batch's sequences hold an unknown part of it
    FAILED = "failed"  # the batch's sequences hold an unknown part of it


class Context:
    """KV cache and compute buffers over one model, for ``num_slots`` sequences at once."""

    def __init__(self, model: Model, options: EngineOptions) -> None:
        self._vocab_size = model.vocab_size
        self._pointer = lib.llama_init_from_model(model.pointer, _context_params(options))
        if not self._pointer:
            raise EngineError(
                f"llama.cpp cannot make a context of {options.context_length} tokens with "
                f"{options.kv_cache_type} KV for {options.model_path.name}; lower [model] context_length "
                "or choose [memory] kv_cache_type = f16"
            )
        self._memory = lib.llama_get_memory(self._pointer)
        self.context_length = int(lib.llama_n_ctx(self._pointer))
        self.batch = Batch(options.batch_tokens + options.num_slots, options.num_slots)
        self._logits: npt.NDArray[np.float32] = np.zeros((0, self._vocab_size), np.float32)
        self._output_rows: dict[int, int] = {}
        self._abort_flag = ctypes.create_string_buffer(2)
        self._arm_abort()

    @property
    def pointer(self) -> Any:
        """The ``llama_context *``; valid until :meth:`close`."""
        return self._pointer

    def _arm_abort(self) -> None:
        """Let ``strlen`` of a two-byte buffer be the abort callback: C asks it, no Python runs."""
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
        self._abort_callback = ctypes.cast(strlen, lib.ggml_abort_callback)  # type: ignore[arg-type]
        lib.llama_set_abort_callback(
            self._pointer, self._abort_callback, ctypes.cast(self._abort_flag, ctypes.c_void_p)
        )

    def abort(self) -> None:
        """End the running :meth:`decode` early. Any thread may call it."""
        aborting.set()
        self._abort_flag[0] = b"\x01"

    def clear_abort(self) -> None:
        """Let decodes run again."""
        self._abort_flag[0] = b"\x00"
        aborting.clear()

    def decode(self) -> DecodeStatus:
        """Compute the rows of ``batch``; afterwards :meth:`logits` serves its output rows."""
        batch = self.batch
        batch.struct.n_tokens = batch.size
        code = int(lib.llama_decode(self._pointer, batch.struct))
        if code == 0:
            self._take_logits()
            return DecodeStatus.DONE
        logger.debug("llama_decode returned %d for %d rows", code, batch.size)
        return {1: DecodeStatus.NO_SPACE, 2: DecodeStatus.ABORTED}.get(code, DecodeStatus.FAILED)

    def _take_logits(self) -> None:
        """Map the output rows without copying; llama.cpp owns them until the next decode."""
        rows = np.flatnonzero(self.batch.outputs[: self.batch.size])
        self._output_rows = {int(row): k for k, row in enumerate(rows)}
        if not len(rows):
            lib.llama_synchronize(self._pointer)
            return
        address = lib.llama_get_logits(self._pointer)
        self._logits = np.ctypeslib.as_array(address, shape=(len(rows), self._vocab_size))

    def logits(self, row: int) -> npt.NDArray[np.float32]:
        """Logits after batch row ``row``, shape ``(vocab_size,)``; a view, valid until the next decode."""
        view: npt.NDArray[np.float32] = self._logits[self._output_rows[row]]
        return view

    def remove(self, slot: int, begin: int = 0) -> bool:
        """Drop a slot's KV from position ``begin`` on.

        False: this model's memory cannot be cut there; only ``begin=0`` always works.
        """
        return bool(seq_rm(self._memory, slot, begin, -1))

    def position_end(self, slot: int) -> int:
        """First position that the slot does not hold yet."""
        return int(seq_pos_max(self._memory, slot)) + 1

    def close(self) -> None:
        """Free the context."""
        lib.llama_free(self._pointer)


def _context_params(options: EngineOptions) -> Any:
    params = lib.llama_context_default_params()
    params.n_ctx = options.context_length
    params.n_batch = options.batch_tokens + options.num_slots
    params.n_ubatch = options.ubatch
    params.n_seq_max = options.num_slots + _NUM_SCRATCH_SEQUENCES
    params.n_outputs_max = params.n_seq_max
    params.n_threads = params.n_threads_batch = options.num_threads
    params.kv_unified = True
    params.flash_attn_type = _FLASH_ATTN_ENABLED  # AUTO may resolve otherwise and change the V layout
    params.type_k = params.type_v = _GGML_TYPES[options.kv_cache_type]
    params.swa_full = False
    params.no_perf = True
    return params
