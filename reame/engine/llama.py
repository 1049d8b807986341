"""The border to llama.cpp: every ctypes call and every error code of the engine's side.

Calls that take microseconds keep the GIL (``PyDLL``); loading and decoding release it. One
thread owns a context; only the abort flag may be written from another.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
from collections.abc import Sequence
from enum import Enum
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np
import numpy.typing as npt

from reame.engine.options import EngineOptions
from reame.errors import EngineError, ModelInvalidError
from reame.types import SamplingParams, TokenId

logger = logging.getLogger("reame.llama")

_GGML_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 8}
_FLASH_ATTN_ENABLED = 1
_NUM_SCRATCH_SEQUENCES = 2
_RANDOM_SEED = 0xFFFFFFFF  # llama.cpp reads this value as "draw one"
_LOG_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}

_aborting = threading.Event()
"""Set while a decode is asked to end early: what llama.cpp then calls errors are none."""

_fast = ctypes.PyDLL(lib._lib._name)  # same library, calls that keep the GIL


def _fast_function(name: str, restype: Any, *argtypes: Any) -> Any:
    function = getattr(_fast, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


_seq_rm = _fast_function(
    "llama_memory_seq_rm", ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32
)
_seq_pos_max = _fast_function("llama_memory_seq_pos_max", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
_sample = _fast_function(
    "llama_sampler_sample", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32
)
_accept = _fast_function("llama_sampler_accept", None, ctypes.c_void_p, ctypes.c_int32)


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _data: Any) -> None:
    message = text.decode("utf-8", "replace").rstrip()
    if message:
        wanted = logging.DEBUG if _aborting.is_set() else _LOG_LEVELS.get(level, logging.DEBUG)
        logger.log(wanted, "%s", message)


class DecodeStatus(Enum):
    """How ``llama_decode`` ended."""

    DONE = "done"
    NO_SPACE = "no_space"  # no free KV cells; nothing changed
    ABORTED = "aborted"  # by the abort flag; the batch's sequences hold an unknown part of it
    FAILED = "failed"  # the batch's sequences hold an unknown part of it


class Model:
    """Weights in memory, read only; shared by nothing but this process."""

    def __init__(self, options: EngineOptions) -> None:
        lib.llama_log_set(_log, None)
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


class Batch:
    """Token rows of one ``llama_decode``, in numpy arrays that llama.cpp reads in place."""

    def __init__(self, capacity: int, num_sequences: int) -> None:
        self.capacity = capacity
        self.tokens: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.positions: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.outputs: npt.NDArray[np.int8] = np.zeros(capacity, np.int8)
        self.size = 0
        self._ones: npt.NDArray[np.int32] = np.ones(capacity, np.int32)
        self._ids: npt.NDArray[np.int32] = np.arange(num_sequences, dtype=np.int32)
        self._id_addresses = [self._ids.ctypes.data + 4 * i for i in range(num_sequences)]
        self._id_pointers: npt.NDArray[np.uintp] = np.zeros(capacity, np.uintp)
        self.struct = self._struct()

    def _struct(self) -> Any:
        struct: Any = lib.llama_batch()
        int32_pointer = ctypes.POINTER(ctypes.c_int32)
        struct.token = self.tokens.ctypes.data_as(int32_pointer)
        struct.pos = self.positions.ctypes.data_as(int32_pointer)
        struct.n_seq_id = self._ones.ctypes.data_as(int32_pointer)
        struct.seq_id = ctypes.cast(self._id_pointers.ctypes.data, type(struct.seq_id))
        struct.logits = self.outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))
        struct.embd = None
        return struct

    def clear(self) -> None:
        """Forget all rows."""
        self.size = 0

    def add(self, slot: int, tokens: Sequence[TokenId], position: int, *, output: bool) -> int:
        """Append ``tokens`` of one slot from ``position`` on; return the last row's index.

        ``output`` asks for the logits of the last row.
        """
        begin, end = self.size, self.size + len(tokens)
        if end > self.capacity:
            raise ValueError(f"batch of {self.capacity} rows cannot take {end}")
        if end - begin == 1:
            self.tokens[begin] = tokens[0]
            self.positions[begin] = position
            self._id_pointers[begin] = self._id_addresses[slot]
        else:
            self.tokens[begin:end] = tokens
            self.positions[begin:end] = np.arange(position, position + end - begin)
            self._id_pointers[begin:end] = self._id_addresses[slot]
            self.outputs[begin : end - 1] = 0
        self.outputs[end - 1] = output
        self.size = end
        return end - 1


class Sampler:
    """One sequence's sampler: filters, penalties and random state, all in C.

    Frequency and presence penalties count the answer alone, as OpenAI's do; the repeat penalty
    sees the prompt's end too, as llama-server's does. ``banned`` ids are never drawn.
    """

    def __init__(
        self,
        model: Model,
        params: SamplingParams,
        *,
        prompt: Sequence[TokenId],
        context_length: int,
        banned: Sequence[TokenId] = (),
    ) -> None:
        self._banned = np.array(banned, np.intp)
        rewriters = _rewriters(model, params, prompt, context_length)
        self.is_plain_greedy = params.temperature <= 0 and not rewriters
        samplers = [*rewriters, *_choosers(params)]
        if not all(samplers):
            raise EngineError(f"llama.cpp refuses these sampling parameters: {params}")
        self._chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for sampler in samplers:
            lib.llama_sampler_chain_add(self._chain, sampler)

    def sample(self, context: Context, row: int) -> TokenId:
        """Draw the token after batch row ``row`` and remember it.

        Raises:
            EngineError: the row holds no finite logits.
        """
        logits = context.logits(row)
        if len(self._banned):
            logits[self._banned] = -np.inf  # llama.cpp's own buffer, so its samplers see it too
        best = int(logits.argmax())  # of a row with NaN this is a NaN
        if not math.isfinite(logits[best]):
            raise EngineError("the model computed no finite logits for this sequence")
        return best if self.is_plain_greedy else int(_sample(self._chain, context.pointer, row))

    def close(self) -> None:
        """Free the chain."""
        lib.llama_sampler_free(self._chain)


def _rewriters(
    model: Model, params: SamplingParams, prompt: Sequence[TokenId], context_length: int
) -> list[Any]:
    """Samplers that change logits before any filter: bias and penalties."""
    samplers: list[Any] = []
    if params.logit_bias:
        biases = (lib.llama_logit_bias * len(params.logit_bias))(
            *(lib.llama_logit_bias(token, bias) for token, bias in params.logit_bias)
        )
        samplers.append(lib.llama_sampler_init_logit_bias(model.vocab_size, len(biases), biases))
    if params.repeat_penalty != 1.0 and params.repeat_last_n != 0:
        window = params.repeat_last_n if params.repeat_last_n > 0 else context_length
        repeat = lib.llama_sampler_init_penalties(model.vocab_size, window, params.repeat_penalty, 0.0, 0.0)
        for token in prompt[-window:]:
            _accept(repeat, token)
        samplers.append(repeat)
    if params.frequency_penalty or params.presence_penalty:
        samplers.append(
            lib.llama_sampler_init_penalties(
                model.vocab_size, context_length, 1.0, params.frequency_penalty, params.presence_penalty
            )
        )
    return samplers


def _choosers(params: SamplingParams) -> list[Any]:
    """Samplers that narrow the candidates and pick one, in llama.cpp's usual order."""
    if params.temperature <= 0:
        return [lib.llama_sampler_init_greedy()]
    samplers: list[Any] = []
    if params.top_k > 0:
        samplers.append(lib.llama_sampler_init_top_k(params.top_k))
    if params.top_p < 1.0:
        samplers.append(lib.llama_sampler_init_top_p(params.top_p, 1))
    if params.min_p > 0.0:
        samplers.append(lib.llama_sampler_init_min_p(params.min_p, 1))
    samplers.append(lib.llama_sampler_init_temp(params.temperature))
    samplers.append(lib.llama_sampler_init_dist(_c_seed(params.seed)))
    return samplers


def _c_seed(seed: int | None) -> int:
    if seed is None:
        return _RANDOM_SEED
    low = seed & 0xFFFFFFFF
    return low - 1 if low == _RANDOM_SEED else low


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
        _aborting.set()
        self._abort_flag[0] = b"\x01"

    def clear_abort(self) -> None:
        """Let decodes run again."""
        self._abort_flag[0] = b"\x00"
        _aborting.clear()

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
        return bool(_seq_rm(self._memory, slot, begin, -1))

    def position_end(self, slot: int) -> int:
        """First position that the slot does not hold yet."""
        return int(_seq_pos_max(self._memory, slot)) + 1

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
