"""Real servers, started as a user starts them: with Ray and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from reame.bench.servers import Server, running_server

CONF = {
    "server": {
        "api_key": "sk-test",
        "max_concurrent_requests": 12,
        "max_request_size_mb": 1,
        "sse_ping_seconds": 1,
    }
}


@pytest.fixture(scope="session", params=["uvicorn", pytest.param("ray", marks=pytest.mark.ray)])
def server(request: pytest.FixtureRequest, demo_model: Path) -> Iterator[Server]:
    with running_server(demo_model, use_ray=request.param == "ray", parallel=9, conf=CONF) as running:
        yield running


@pytest.fixture
def base_url(server: Server) -> str:
    return f"http://{server.host}:{server.port}/v1"


@pytest.fixture
def client(base_url: str) -> Iterator[OpenAI]:
    with OpenAI(
        base_url=base_url, api_key="sk-test", max_retries=0, timeout=120, _strict_response_validation=True
    ) as made:
        yield made
