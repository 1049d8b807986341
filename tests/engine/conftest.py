"""An engine over the real demo model, in this process."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reame.engine.core import Engine
from reame.engine.llama import Context, Model
from reame.engine.options import EngineOptions
from reame.engine.wire import Event, Failed
from reame.prompt import Tokenizer
from reame.types import GenerateRequest, SamplingParams

GREEDY = SamplingParams(temperature=0.0)


@pytest.fixture(scope="session")
def options(demo_model: Path) -> EngineOptions:
    return EngineOptions(demo_model, context_length=2048, num_slots=4, num_threads=2)


@pytest.fixture(scope="session")
def model(options: EngineOptions) -> Iterator[Model]:
    loaded = Model(options)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def tokenizer(demo_model: Path) -> Tokenizer:
    return Tokenizer(demo_model)


class Harness:
    """An engine with a driver: submit by name, run to the end, read what came."""

    def __init__(self, model: Model, options: EngineOptions, tokenizer: Tokenizer) -> None:
        self.context = Context(model, options)
        self.engine = Engine(model, self.context, options)
        self.tokenizer = tokenizer
        self.news: dict[int, list[Event | Failed]] = {}

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_bos=False, parse_special=True))

    def ask(self, question: str) -> tuple[int, ...]:
        return self.ids(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")

    def submit(self, key: int, prompt: str | tuple[int, ...], max_tokens: int = 16, **fields: object) -> None:
        ids = self.ask(prompt) if isinstance(prompt, str) else prompt
        request = GenerateRequest(f"request-{key}", ids, max_tokens, **{"sampling": GREEDY, **fields})  # type: ignore[arg-type]
        self.news[key] = []
        refused = self.engine.submit(key, request)
        if refused is not None:
            self.news[key].append(refused)

    def step(self) -> None:
        for item in self.engine.step():
            self.news[item.seq].append(item)
        self.engine.check_integrity()

    def run(self, max_steps: int = 3000) -> None:
        for _ in range(max_steps):
            if not self.engine.has_work:
                return
            self.step()
        raise AssertionError("the engine did not finish")

    def text(self, key: int) -> str:
        return "".join(item.text for item in self.events(key))

    def events(self, key: int) -> list[Event]:
        failed = [item for item in self.news[key] if isinstance(item, Failed)]
        assert not failed, failed
        return [item for item in self.news[key] if isinstance(item, Event)]

    def failure(self, key: int) -> str:
        (failed,) = [item for item in self.news[key] if isinstance(item, Failed)]
        return failed.message

    def last(self, key: int) -> Event:
        return self.events(key)[-1]


class MakeHarness:
    """Builds harnesses with changed options and closes their contexts."""

    def __init__(self, model: Model, options: EngineOptions, tokenizer: Tokenizer) -> None:
        self._parts = model, options, tokenizer
        self._made: list[Harness] = []

    def __call__(self, **changes: object) -> Harness:
        model, options, tokenizer = self._parts
        harness = Harness(model, replace(options, **changes), tokenizer)  # type: ignore[arg-type]
        self._made.append(harness)
        return harness

    def close(self) -> None:
        for harness in self._made:
            harness.context.close()


@pytest.fixture
def make_harness(model: Model, options: EngineOptions, tokenizer: Tokenizer) -> Iterator[MakeHarness]:
    maker = MakeHarness(model, options, tokenizer)
    yield maker
    maker.close()
