"""What reame counts, in a registry of its own, and the names that public dashboards know it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from reame.types import EngineLoad, Finish

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_GAPS_S = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5)

OUTCOMES = ("ok", "cancelled", "refused", "overloaded", "timeout", "error")


@dataclass(frozen=True, slots=True)
class _Alias:
    """Another name for a metric. ``labels`` renames those that are called otherwise there."""

    name: str
    ours: str
    labels: Mapping[str, str]


def _alias(name: str, ours: str, **labels: str) -> _Alias:
    return _Alias(name, f"reame_{ours}", labels)


ALIASES: tuple[_Alias, ...] = (
    _alias("vllm:num_requests_running", "running"),
    _alias("vllm:num_requests_waiting", "waiting"),
    _alias("vllm:prompt_tokens", "prompt_tokens"),
    _alias("vllm:generation_tokens", "generated_tokens"),
    _alias("vllm:request_success", "sequences", finish_reason="finished_reason"),
    _alias("vllm:time_to_first_token_seconds", "ttft_seconds"),
    _alias("vllm:time_per_output_token_seconds", "itl_seconds"),
    _alias("vllm:inter_token_latency_seconds", "itl_seconds"),
    _alias("vllm:e2e_request_latency_seconds", "request_seconds"),
    _alias("vllm:request_queue_time_seconds", "queue_seconds"),
    _alias("llamacpp:prompt_tokens", "prompt_tokens"),
    _alias("llamacpp:tokens_predicted", "generated_tokens"),
    _alias("llamacpp:requests_processing", "running"),
    _alias("llamacpp:requests_deferred", "waiting"),
)


class Metrics:
    """The API's counters. Belongs to one process; observing costs a few microseconds."""

    def __init__(self, model_id: str) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        own = CollectorRegistry(auto_describe=False)
        self.requests = Counter(
            "reame_requests", "Generation requests by outcome.", ["outcome"], registry=own
        )
        self.sequences = Counter(
            "reame_sequences", "Sequences that ended, by finish reason.", ["finish_reason"], registry=own
        )
        self.prompt_tokens = Counter("reame_prompt_tokens", "Prompt tokens of ended sequences.", registry=own)
        self.generated_tokens = Counter("reame_generated_tokens", "Tokens generated.", registry=own)
        self.cancelled = Counter("reame_streams_cancelled", "Requests whose client left.", registry=own)
        self.ttft = _histogram("ttft", "Request to its first token, of streams.", _SECONDS, own)
        self.itl = _histogram("itl", "Between two tokens of a stream, averaged over a piece.", _GAPS_S, own)
        self.queue = _histogram("queue", "Waiting for a slot.", _SECONDS, own)
        self.request = _histogram("request", "A whole request, whatever its outcome.", _SECONDS, own)
        self._running = Gauge("reame_running", "Sequences that hold a slot.", registry=own)
        self._waiting = Gauge("reame_waiting", "Sequences that wait for a slot.", registry=own)
        self._slots = Gauge("reame_slots", "Slots of the engine.", registry=own)
        self._ready = Gauge("reame_engine_ready", "1 while the engine serves.", registry=own)
        self._restarts = Gauge("reame_engine_restarts", "Restarts of the engine process.", registry=own)
        for outcome in OUTCOMES:
            self.requests.labels(outcome)
        self.registry.register(_WithAliases(own, model_id))

    def finished(self, finish: Finish) -> None:
        """Count one sequence that ended well."""
        self.sequences.labels(finish.reason.value).inc()
        self.prompt_tokens.inc(finish.num_prompt_tokens)
        self.generated_tokens.inc(finish.num_generated_tokens)
        self.queue.observe(finish.timings.queue_ms / 1000)

    def page(self, load: EngineLoad | None) -> bytes:
        """The exposition text; ``load`` of ``None`` is an engine that does not answer."""
        self._ready.set(load is not None and load.state == "ready")
        if load is not None:
            self._running.set(load.num_running)
            self._waiting.set(load.num_waiting)
            self._slots.set(load.num_slots)
            self._restarts.set(load.num_restarts)
        return generate_latest(self.registry)


def _histogram(name: str, text: str, buckets: tuple[float, ...], registry: CollectorRegistry) -> Histogram:
    return Histogram(f"reame_{name}_seconds", text, buckets=buckets, registry=registry)


class _WithAliases(Collector):
    """Every metric once under its own name and once under each alias."""

    def __init__(self, own: CollectorRegistry, model_id: str) -> None:
        self._own = own
        self._model_id = model_id

    def collect(self) -> Iterable[Metric]:
        """All families."""
        families = {family.name: _without_dates(family) for family in self._own.collect()}
        yield from families.values()
        for alias in ALIASES:
            yield self._renamed(families[alias.ours], alias)

    def _renamed(self, family: Metric, alias: _Alias) -> Metric:
        renamed = Metric(alias.name, family.documentation, family.type, family.unit)
        for sample in family.samples:
            labels = {alias.labels.get(k, k): v for k, v in sample.labels.items()}
            name = alias.name + sample.name.removeprefix(family.name)
            renamed.samples.append(Sample(name, labels | {"model_name": self._model_id}, sample.value))
        return renamed


def _without_dates(family: Metric) -> Metric:
    """Drop the ``_created`` samples: a third of the page, and no dashboard reads them."""
    family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    return family
