"""The border to llama.cpp: every ctypes call and every error code of the engine's side.

One thread owns a context; only its abort flag may be written from another.
"""

from reame.engine.llama.batch import Batch
from reame.engine.llama.context import Context, DecodeStatus
from reame.engine.llama.model import Model
from reame.engine.llama.sampler import Sampler

__all__ = ["Batch", "Context", "DecodeStatus", "Model", "Sampler"]
