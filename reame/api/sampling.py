"""From request fields to sampling parameters. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from reame.api.fields import Fields, finite, whole
from reame.errors import InvalidRequestError
from reame.types import SamplingParams, TokenId

MAX_STOPS = 16
_INT32_MAX = 2**31 - 1
_MIN_REPEAT, _MAX_REPEAT = 0.01, 10.0
_DEFAULTS = SamplingParams()


def parse_sampling(fields: Fields, vocab_size: int) -> SamplingParams:
    """Read OpenAI's sampling fields and llama-server's; what is absent keeps its default.

    Raises:
        InvalidRequestError: names the field and what it takes.
    """
    return SamplingParams(
        temperature=_or(fields.number("temperature", 0, 2), _DEFAULTS.temperature),
        top_k=_top_k(fields),
        top_p=_or(fields.number("top_p", 0, 1), _DEFAULTS.top_p),
        min_p=_or(fields.number("min_p", 0, 1), _DEFAULTS.min_p),
        repeat_penalty=_repeat_penalty(fields),
        repeat_last_n=_or_int(fields.integer("repeat_last_n", -1, _INT32_MAX), _DEFAULTS.repeat_last_n),
        frequency_penalty=_or(fields.number("frequency_penalty", -2, 2), _DEFAULTS.frequency_penalty),
        presence_penalty=_or(fields.number("presence_penalty", -2, 2), _DEFAULTS.presence_penalty),
        seed=fields.integer("seed"),
        logit_bias=_logit_bias(fields, vocab_size),
    )


def parse_stop(fields: Fields) -> tuple[str, ...]:
    """Read ``stop``: a string or a list of strings.

    Raises:
        InvalidRequestError: it is something else, too long a list, or holds an empty string.
    """
    value = fields.get("stop")
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if isinstance(stops, list) and len(stops) <= MAX_STOPS:
        strings = tuple(stop for stop in stops if isinstance(stop, str) and stop)
        if len(strings) == len(stops):
            return strings
    raise fields.wrong("stop", f"a non-empty string or a list of at most {MAX_STOPS} non-empty strings")


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _or_int(value: int | None, default: int) -> int:
    return default if value is None else value


def _top_k(fields: Fields) -> int:
    """0 and -1 both switch it off, as llama-server's and vLLM's clients expect."""
    return max(0, _or_int(fields.integer("top_k", -1, _INT32_MAX), _DEFAULTS.top_k))


def _repeat_penalty(fields: Fields) -> float:
    """``repetition_penalty`` is vLLM's name for the same."""
    ours = fields.number("repeat_penalty", _MIN_REPEAT, _MAX_REPEAT)
    theirs = fields.number("repetition_penalty", _MIN_REPEAT, _MAX_REPEAT)
    if ours is not None and theirs is not None and ours != theirs:
        raise InvalidRequestError(
            "'repeat_penalty' and 'repetition_penalty' are the same setting and differ; send one of them.",
            param="repetition_penalty",
        )
    return _or(ours if ours is not None else theirs, _DEFAULTS.repeat_penalty)


def _logit_bias(fields: Fields, vocab_size: int) -> tuple[tuple[TokenId, float], ...]:
    value = fields.get("logit_bias")
    biases: dict[TokenId, float] = {}
    for key, raw in _bias_pairs(fields, value):
        token_id, bias = _token_id(key), _bias(raw)
        if token_id is None or bias is None or not 0 <= token_id < vocab_size:
            raise _wrong_bias(fields, vocab_size)
        biases[token_id] = bias
    return tuple(biases.items())


def _bias_pairs(fields: Fields, value: object) -> Iterable[tuple[object, object]]:
    """OpenAI's object of ids, or llama-server's list of pairs."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return [(pair[0], pair[1]) for pair in value]
    raise fields.wrong("logit_bias", "an object from token ids to biases, or a list of [token id, bias]")


def _token_id(key: object) -> TokenId | None:
    if isinstance(key, str):
        return int(key) if key.isascii() and key.isdigit() and len(key) < 12 else None
    return whole(key)


def _bias(raw: object) -> float | None:
    if raw is False:  # llama-server's word for "never this token"
        return float("-inf")
    bias = finite(raw)
    return bias if bias is not None and -100 <= bias <= 100 else None


def _wrong_bias(fields: Fields, vocab_size: int) -> InvalidRequestError:
    path = fields.path("logit_bias")
    return InvalidRequestError(
        f"'{path}' takes token ids from 0 to {vocab_size - 1} and biases from -100 to 100.", param=path
    )
