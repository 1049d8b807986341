"""Values that cross module borders. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

TokenId = int
"""One vocabulary entry of the served model."""


class FinishReason(StrEnum):
    """Why a sequence ended, in OpenAI's words."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn. The defaults are llama-server's.

    ``seed`` of ``None`` draws a fresh seed. ``temperature`` of 0 is greedy: the most likely
    token, whatever the other filters say. Penalties look back over the last
    ``repeat_last_n`` tokens (-1: the whole context).
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    seed: int | None = None
    logit_bias: tuple[tuple[TokenId, float], ...] = ()


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One sequence to generate, already tokenized.

    ``max_tokens`` of 0 computes the prompt and generates nothing. ``stream_interval_s`` is
    the least time between two pieces of text; ``None`` sends everything with the last event.
    """

    request_id: str
    prompt_ids: tuple[TokenId, ...]
    max_tokens: int
    sampling: SamplingParams = field(default_factory=SamplingParams)
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    stream_interval_s: float | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Where a request's time went, in milliseconds, with the token counts behind it."""

    queue_ms: float = 0.0
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Finish:
    """The last word on a sequence. ``num_generated_tokens`` counts an end-of-generation id too."""

    reason: FinishReason
    num_prompt_tokens: int
    num_generated_tokens: int
    timings: Timings


@dataclass(frozen=True, slots=True)
class GenerateEvent:
    """A piece of a stream. The first event of every stream is empty: the request was accepted.

    ``ids`` are the tokens generated since the previous event. ``text`` is what may be shown:
    it lags behind ``ids`` while a stop string or a UTF-8 character may still be forming.
    ``finish`` is set on the last event only.
    """

    text: str = ""
    ids: tuple[TokenId, ...] = ()
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What a running engine says of itself.

    ``context_length`` is the most tokens (prompt and answer) that one request may use.
    ``num_threads`` are llama.cpp's decode threads.
    """

    context_length: int
    context_length_trained: int
    num_slots: int
    num_threads: int
    num_parameters: int
    model_bytes: int
    vocab_size: int
    pid: int


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """A moment's load. ``state`` is ``starting``, ``ready``, ``restarting`` or ``draining``."""

    state: str
    num_running: int
    num_waiting: int
    num_slots: int
    num_restarts: int = 0
