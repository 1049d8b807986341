"""The HTTP deployment: the API in front of a handle to the engines."""

from __future__ import annotations

from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle

from deployments.conf import load_deployment_settings
from deployments.handle import HandleGenerator
from reame.api import Backend, api_options, create_app
from reame.catalog import resolve_model
from reame.logs import setup_logging
from reame.prompt import PromptEncoder


@serve.deployment
@serve.ingress()
class Ingress:
    """Tokenizes, asks an engine, and answers in OpenAI's words."""

    def __init__(self, config: str | None, engine: DeploymentHandle[Any]) -> None:
        self._settings = load_deployment_settings(config)
        setup_logging(self._settings.logging.level, self._settings.logging.format)
        self._generator = HandleGenerator(engine)

    def __serve_build_asgi_app__(self) -> Any:
        settings = self._settings
        path = resolve_model(settings)
        encoder = PromptEncoder.from_gguf(path, settings.model.chat_template)
        return create_app(Backend(self._generator, encoder), api_options(settings, path))
