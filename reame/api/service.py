"""What all endpoints share, made once for each app."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from reame import __version__
from reame.api.backend import Backend
from reame.api.fields import Fields
from reame.api.info import EngineFacts
from reame.api.options import ApiOptions
from reame.api.shapes import Envelope, Style
from reame.errors import UnknownModelError
from reame.metrics import Metrics

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Service:
    """Backend, options, metrics, clocks. ``clock`` measures, ``wall_clock`` dates."""

    backend: Backend
    options: ApiOptions
    metrics: Metrics
    facts: EngineFacts
    clock: Clock
    wall_clock: Clock
    started_at: int

    def envelope(self, style: Style) -> Envelope:
        """Name and date a new answer."""
        answer_id = f"{style.id_prefix}{secrets.token_hex(16)}"
        return Envelope(answer_id, int(self.wall_clock()), self.options.model_id, f"reame-{__version__}")

    def check_model(self, fields: Fields) -> None:
        """Accept the served model's id, ``default``, or none.

        Raises:
            InvalidRequestError: ``model`` is no string.
            UnknownModelError: another model.
        """
        self.check_model_id(fields.string("model") or "default")

    def check_model_id(self, name: str) -> None:
        """The same for an id.

        Raises:
            UnknownModelError: another model.
        """
        served = self.options.model_id
        if name not in ("default", served):
            raise UnknownModelError(
                f"The model '{name[:200]}' does not exist here; this server serves '{served}'.", param="model"
            )


def make_service(
    backend: Backend, options: ApiOptions, clock: Clock = time.perf_counter, wall_clock: Clock = time.time
) -> Service:
    """A service with fresh metrics."""
    return Service(
        backend=backend,
        options=options,
        metrics=Metrics(options.model_id),
        facts=EngineFacts(backend.generator, clock),
        clock=clock,
        wall_clock=wall_clock,
        started_at=int(wall_clock()),
    )
