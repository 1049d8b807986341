"""The OpenAI-compatible HTTP API over anything that generates."""

from reame.api.app import create_app
from reame.api.backend import Backend
from reame.api.options import ApiOptions, api_options

__all__ = ["ApiOptions", "Backend", "api_options", "create_app"]
