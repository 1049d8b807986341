"""The endpoints that do not generate: models, tokens, health, metrics, version."""

from __future__ import annotations

import asyncio
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from reame import __version__
from reame.api.body import read_fields
from reame.api.fields import Fields
from reame.api.messages import parse_messages
from reame.api.prompts import parse_ids
from reame.api.replies import json_response
from reame.api.service import Service
from reame.api.tally import Json
from reame.errors import EngineUnavailableError, InvalidRequestError
from reame.types import EngineInfo, TokenId

_SOURCES = ("prompt", "content", "messages")


class PlainEndpoints:
    """Handlers over one :class:`Service`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def models(self, _request: Request) -> Response:
        """``GET /models``."""
        return json_response({"object": "list", "data": [await self._model()]})

    async def model(self, request: Request) -> Response:
        """``GET /models/{id}``; the id may hold slashes."""
        self._service.check_model_id(request.path_params["model_id"])
        return json_response(await self._model())

    async def _model(self) -> Json:
        model: Json = {
            "id": self._service.options.model_id,
            "object": "model",
            "created": self._service.started_at,
            "owned_by": "reame",
        }
        info = await self._service.facts.info_soon()
        return model if info is None else model | _model_extras(info)

    async def health(self, _request: Request) -> Response:
        """``GET /health``: this process lives, busy or not."""
        return json_response({"status": "ok"})

    async def ready(self, _request: Request) -> Response:
        """``GET /ready``: the engine serves."""
        load = await self._service.facts.load_soon()
        state = "unreachable" if load is None else load.state
        if state != "ready":
            raise EngineUnavailableError(f"The engine is not ready: it is {state}.")
        return json_response({"status": "ready"})

    async def metrics(self, _request: Request) -> Response:
        """``GET /metrics``, for Prometheus."""
        load = await self._service.facts.load_soon()
        return Response(self._service.metrics.page(load), media_type=CONTENT_TYPE_LATEST)

    async def version(self, _request: Request) -> Response:
        """``GET /version``."""
        return json_response({"version": __version__, "llama_cpp_python": _installed("llama-cpp-python")})

    async def tokenize(self, request: Request) -> Response:
        """``POST /tokenize``: text or messages to ids."""
        fields = await read_fields(request.receive)
        self._service.check_model(fields)
        ids = await self._ids(fields)
        info = await self._service.facts.info_soon()
        return json_response(
            {
                "tokens": self._with_pieces(ids) if fields.boolean("with_pieces") else ids,
                "count": len(ids),
                "max_model_len": None if info is None else info.context_length,
            }
        )

    async def _ids(self, fields: Fields) -> list[TokenId]:
        encoder = self._service.backend.encoder
        add_special = fields.boolean("add_special_tokens", fields.boolean("add_special", True))
        given = [name for name in _SOURCES if fields.get(name) is not None]
        if len(given) != 1:
            raise InvalidRequestError(
                "Send exactly one of 'prompt', 'content' and 'messages'.", param="prompt"
            )
        if given[0] == "messages":
            messages = parse_messages(fields)
            adds_prompt = fields.boolean("add_generation_prompt", True)
            encoded = await asyncio.to_thread(encoder.chat, messages, add_generation_prompt=adds_prompt)
            return list(encoded.ids)
        text = fields.string(given[0]) or ""
        return await asyncio.to_thread(
            encoder.tokenizer.encode, text, add_bos=add_special, parse_special=True
        )

    def _with_pieces(self, ids: list[TokenId]) -> list[Json]:
        piece = self._service.backend.encoder.tokenizer.piece
        return [{"id": token_id, "piece": _text_or_bytes(piece(token_id))} for token_id in ids]

    async def detokenize(self, request: Request) -> Response:
        """``POST /detokenize``: ids to text."""
        fields = await read_fields(request.receive)
        self._service.check_model(fields)
        tokenizer = self._service.backend.encoder.tokenizer
        ids = parse_ids(fields.get("tokens"), "tokens", tokenizer.vocab_size, may_be_empty=True)
        text = await asyncio.to_thread(tokenizer.decode, ids)
        return json_response({"prompt": text, "content": text})


def _model_extras(info: EngineInfo) -> Json:
    """vLLM's ``max_model_len`` and llama-server's ``meta``."""
    meta = {
        "n_ctx_train": info.context_length_trained,
        "n_params": info.num_parameters,
        "size": info.model_bytes,
        "n_vocab": info.vocab_size,
    }
    return {"max_model_len": info.context_length, "meta": meta}


def _text_or_bytes(piece: bytes) -> str | list[int]:
    """A piece may be part of a character; then its bytes, as llama-server does."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
