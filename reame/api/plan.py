"""From what a client wants to the sequences that the engine generates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from reame.api.backend import Encoder
from reame.api.prompts import RawPrompt
from reame.api.wanted import ChatPrompt, Wanted
from reame.errors import ContextLengthError, InvalidRequestError
from reame.prompt import EncodedPrompt
from reame.types import GenerateRequest, SamplingParams

Prompt = ChatPrompt | RawPrompt


@dataclass(frozen=True, slots=True)
class Plan:
    """The sequences of one request, prompt by prompt; ``prompt_texts`` go with ``requests``."""

    requests: tuple[GenerateRequest, ...]
    prompt_texts: tuple[str, ...]
    num_prompt_tokens: int


async def encode_prompts(wanted: Wanted, encoder: Encoder) -> tuple[EncodedPrompt, ...]:
    """Tokenize every prompt, beside the event loop: a long one takes a while.

    Raises:
        InvalidRequestError: the template refuses the messages, or a prompt is empty.
    """
    return await asyncio.to_thread(lambda: tuple(_encode(p, encoder, wanted.echo) for p in wanted.prompts))


def _encode(prompt: Prompt, encoder: Encoder, echo: bool) -> EncodedPrompt:
    match prompt:
        case ChatPrompt():
            encoded = encoder.chat(
                prompt.messages,
                template_kwargs=prompt.template_kwargs or None,
                add_generation_prompt=prompt.add_generation_prompt,
            )
        case str():
            encoded = encoder.completion(prompt)
        case _:
            encoded = EncodedPrompt(encoder.tokenizer.decode(prompt) if echo else "", prompt)
    return encoded if encoded.ids else _only_bos(encoder)


def _only_bos(encoder: Encoder) -> EncodedPrompt:
    """An empty prompt: the model starts from its BOS."""
    bos_id = encoder.tokenizer.bos_id
    if bos_id is None:
        raise InvalidRequestError("The prompt is empty, and the served model has no BOS to start from.")
    return EncodedPrompt("", (bos_id,))


def plan(
    wanted: Wanted,
    prompts: tuple[EncodedPrompt, ...],
    *,
    answer_id: str,
    context_length: int,
    stream_interval_s: float,
) -> Plan:
    """Lay out one sequence for each prompt and choice. Pure.

    Raises:
        ContextLengthError: a prompt and its answer do not fit the context.
    """
    choices = [(prompt, choice) for prompt in prompts for choice in range(wanted.num_choices)]
    name: Callable[[int], str] = lambda i: answer_id if len(choices) == 1 else f"{answer_id}-{i}"  # noqa: E731
    requests = tuple(
        GenerateRequest(
            request_id=name(index),
            prompt_ids=prompt.ids,
            max_tokens=_max_tokens(wanted, len(prompt.ids), context_length),
            sampling=_seeded(wanted.sampling, choice),
            stop=wanted.stop,
            ignore_eos=wanted.ignore_eos,
            stream_interval_s=stream_interval_s if wanted.stream else None,
        )
        for index, (prompt, choice) in enumerate(choices)
    )
    return Plan(requests, tuple(p.text for p, _ in choices), sum(len(p.ids) for p in prompts))


def _max_tokens(wanted: Wanted, num_prompt_tokens: int, context_length: int) -> int:
    room = context_length - num_prompt_tokens
    needed = 1 if wanted.max_tokens is None else wanted.max_tokens
    if needed > room:
        param = "messages" if isinstance(wanted.prompts[0], ChatPrompt) else "prompt"
        raise ContextLengthError(
            limit=context_length, num_prompt_tokens=num_prompt_tokens, max_tokens=needed, param=param
        )
    return room if wanted.max_tokens is None else wanted.max_tokens


def _seeded(sampling: SamplingParams, choice: int) -> SamplingParams:
    """Each choice its own seed: equal ones would give equal answers."""
    if sampling.seed is None or choice == 0:
        return sampling
    return replace(sampling, seed=_wrapped(sampling.seed + choice))


def _wrapped(seed: int) -> int:
    """``seed`` as a 64-bit integer."""
    return (seed + 2**63) % 2**64 - 2**63
