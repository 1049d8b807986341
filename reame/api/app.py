"""Puts endpoints and middlewares together."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reame import __version__
from reame.api.auth import Authentication
from reame.api.backend import Backend
from reame.api.body_limit import BodyLimit
from reame.api.boundary import ErrorBoundary
from reame.api.context import RequestContext
from reame.api.failures import MethodNotAllowedError
from reame.api.generation import GenerationEndpoint
from reame.api.options import ApiOptions
from reame.api.paths import Paths
from reame.api.plain import PlainEndpoints
from reame.api.service import Service, make_service
from reame.api.shapes import CHAT, COMPLETION
from reame.api.wanted import parse_chat, parse_completion
from reame.errors import NotFoundError, ReameError

_EXPOSED = ("x-request-id", "openai-processing-ms", "retry-after")


def create_app(backend: Backend, options: ApiOptions) -> FastAPI:
    """The API as an ASGI app; it needs no lifespan events.

    Its layers are plain ASGI: they add nothing to the chunks of a stream and leave disconnects
    alone. From the outside in: CORS, request ids and log, errors, paths, keys, sizes, routes.
    """
    service = make_service(backend, options)
    app = FastAPI(
        title="reame",
        version=__version__,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _raise_ours},
    )
    app.router.routes.extend(_routes(service))
    app.add_middleware(BodyLimit, max_bytes=options.max_body_bytes)
    app.add_middleware(Authentication, keys=options.api_keys)
    app.add_middleware(Paths)
    app.add_middleware(ErrorBoundary)
    app.add_middleware(RequestContext, clock=service.clock)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors_origins,
            allow_methods=("*",),
            allow_headers=("*",),
            expose_headers=_EXPOSED,
        )
    return app


def _routes(service: Service) -> list[Route]:
    plain = PlainEndpoints(service)
    return [
        Route("/chat/completions", GenerationEndpoint(service, parse_chat, CHAT), methods=["POST"]),
        Route("/completions", GenerationEndpoint(service, parse_completion, COMPLETION), methods=["POST"]),
        Route("/models", plain.models, methods=["GET"]),
        Route("/models/{model_id:path}", plain.model, methods=["GET"]),
        Route("/tokenize", plain.tokenize, methods=["POST"]),
        Route("/detokenize", plain.detokenize, methods=["POST"]),
        Route("/health", plain.health, methods=["GET"]),
        Route("/ready", plain.ready, methods=["GET"]),
        Route("/metrics", plain.metrics, methods=["GET"]),
        Route("/version", plain.version, methods=["GET"]),
    ]


async def _raise_ours(request: Request, error: Exception) -> Response:
    """Starlette's own errors become ours, for :class:`ErrorBoundary` to answer.

    Raises:
        ReameError: always.
    """
    raise _ours(request, error)


def _ours(request: Request, error: Exception) -> ReameError:
    asked = f"{request.method} {request.url.path}"
    if isinstance(error, HTTPException) and error.status_code == 405:
        allow = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        return MethodNotAllowedError(f"{asked}: this path takes {allow} only.", allow=allow)
    return NotFoundError(
        f"{asked}: there is no such path. This server has /v1/chat/completions, /v1/completions, /v1/models, "
        "/v1/tokenize, /v1/detokenize, /health, /ready, /metrics and /version."
    )
