"""llama.cpp's library: calls that keep the GIL, and its log.

Calls that take microseconds keep the GIL (``PyDLL``), so that another thread cannot make them
wait; loading and decoding, called through ``llama_cpp``, release it.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from typing import Any

import llama_cpp.llama_cpp as lib

logger = logging.getLogger("reame.llama")

_LOG_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}

aborting = threading.Event()
"""Set while a decode is asked to end early: what llama.cpp then calls errors are none."""

_fast = ctypes.PyDLL(lib._lib._name)  # same library, calls that keep the GIL


def _fast_function(name: str, restype: Any, *argtypes: Any) -> Any:
    function = getattr(_fast, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


seq_rm = _fast_function(
    "llama_memory_seq_rm", ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32
)
seq_pos_max = _fast_function("llama_memory_seq_pos_max", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
sample = _fast_function(
    "llama_sampler_sample", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32
)
accept = _fast_function("llama_sampler_accept", None, ctypes.c_void_p, ctypes.c_int32)


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def log_callback(level: int, text: bytes, _data: Any) -> None:
    """Pass a line of llama.cpp's on to the logger ``reame.llama``."""
    message = text.decode("utf-8", "replace").rstrip()
    if message:
        wanted = logging.DEBUG if aborting.is_set() else _LOG_LEVELS.get(level, logging.DEBUG)
        logger.log(wanted, "%s", message)
