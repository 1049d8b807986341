"""The rows of one decode."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np
import numpy.typing as npt

from reame.types import TokenId


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
