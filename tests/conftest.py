"""What all tests share: the real demo model, found where `make test` fetched it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """Path of SmolLM2-135M-Instruct Q4_1. Missing is a failure, not a skip: run `make test`."""
    directory = Path(os.environ.get("REAME_MODELS_DIR") or ROOT / "models")
    path = directory / DEMO_FILE
    assert path.is_file(), f"{path} is missing; fetch it with `reame pull smollm2-135m`"
    return path
