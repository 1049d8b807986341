"""Every error that reame raises on purpose.

ReameError
├── ConfigError                 reame.conf or the environment is wrong; names key and line
├── ModelError                  a model file cannot be used
│   ├── ModelNotFoundError      no such file or manifest; says how to get one
│   └── ModelInvalidError       not a GGUF, truncated, or of a wrong checksum
├── FetchError                  a download failed for good
├── RequestError                the client's request cannot be served as sent
│   ├── InvalidRequestError     a field is missing, of the wrong type or out of range
│   │   └── ContextLengthError  prompt and answer do not fit the context
│   ├── AuthenticationError     no API key, or a wrong one
│   ├── UnknownModelError       another model id than the served one
│   ├── NotFoundError           no such path
│   └── PayloadTooLargeError    the body exceeds the limit
├── OverloadedError             too many requests; come back after ``retry_after_s``
└── EngineError                 the engine failed a request that was right
    ├── EngineUnavailableError  not started yet, restarting, or draining
    ├── EngineDiedError         its process ended during the request
    └── SequenceFailedError     this one sequence failed; others go on

All of them survive pickling, so they cross process borders as themselves.
"""

from __future__ import annotations

from typing import Any


class ReameError(Exception):
    """Root of the tree. ``code`` and ``param`` are those of OpenAI's error object."""

    code: str | None = None

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.param = param

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[ReameError], args: tuple[Any, ...], state: dict[str, Any]) -> ReameError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigError(ReameError):
    """``reame.conf`` or an environment override is wrong."""


class ModelError(ReameError):
    """A model file cannot be used."""


class ModelNotFoundError(ModelError):
    """No such model file or manifest."""


class ModelInvalidError(ModelError):
    """The file is not a whole GGUF, or not the one the manifest names."""


class FetchError(ReameError):
    """A download failed for good; what arrived so far is kept for the next try."""


class RequestError(ReameError):
    """The client's request cannot be served as sent."""


class InvalidRequestError(RequestError):
    """A field is missing, of the wrong type or out of range."""

    code = "invalid_value"


class ContextLengthError(InvalidRequestError):
    """Prompt and answer do not fit the context."""

    code = "context_length_exceeded"

    def __init__(
        self, *, limit: int, num_prompt_tokens: int, max_tokens: int, param: str | None = None
    ) -> None:
        super().__init__(
            f"This model's maximum context length is {limit} tokens. However, you requested "
            f"{num_prompt_tokens + max_tokens} tokens ({num_prompt_tokens} in the prompt, {max_tokens} "
            "for the answer). Shorten the prompt or lower max_tokens.",
            param=param,
        )


class AuthenticationError(RequestError):
    """No API key, or a wrong one."""

    code = "invalid_api_key"


class UnknownModelError(RequestError):
    """The request names another model than the served one."""

    code = "model_not_found"


class NotFoundError(RequestError):
    """No such path."""

    code = "not_found"


class PayloadTooLargeError(RequestError):
    """The body exceeds ``[server] max_request_size_mb``."""

    code = "payload_too_large"


class OverloadedError(ReameError):
    """Too many requests are running and waiting."""

    code = "overloaded"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineError(ReameError):
    """The engine failed a request that was right."""

    code = "engine_error"


class EngineUnavailableError(EngineError):
    """The engine is starting, restarting or draining."""

    code = "engine_unavailable"

    def __init__(self, message: str, *, retry_after_s: float = 2.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineDiedError(EngineError):
    """The engine's process ended while it served this request."""

    code = "engine_died"


class SequenceFailedError(EngineError):
    """This one sequence failed inside llama.cpp; the others go on."""

    code = "sequence_failed"
