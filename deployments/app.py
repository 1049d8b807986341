"""What ``serve run serve_config.yaml`` builds: ``deployments.app:build``.

Ray reads ``build``'s annotation as a class, so this module must not postpone annotations.
"""

from pydantic import BaseModel, ConfigDict
from ray.serve import Application

from deployments.conf import load_deployment_settings
from deployments.ingress import Ingress
from deployments.replica import Engine


class AppArgs(BaseModel):
    """The ``args`` of the application in ``serve_config.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: str | None = "reame.conf"


def build(args: AppArgs) -> Application:
    """The application: ingress in front, engine behind.

    Each engine replica counts its own requests and refuses beyond
    ``[server] max_concurrent_requests`` with a Retry-After, so Ray's limit stands a little higher.
    """
    limit = load_deployment_settings(args.config).server.max_concurrent_requests
    engine = Engine.options(max_ongoing_requests=limit + 16)  # type: ignore[attr-defined]
    return Ingress.bind(args.config, engine.bind(args.config))  # type: ignore[attr-defined, no-any-return]
