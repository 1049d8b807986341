"""How the next token is drawn: llama.cpp's samplers, chained for one sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np

from reame.engine.llama.context import Context
from reame.engine.llama.library import accept, sample
from reame.engine.llama.model import Model
from reame.errors import EngineError
from reame.types import SamplingParams, TokenId

_RANDOM_SEED = 0xFFFFFFFF  # llama.cpp reads this value as "draw one"


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
        return best if self.is_plain_greedy else int(sample(self._chain, context.pointer, row))

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
            accept(repeat, token)
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
