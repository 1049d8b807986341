# One command per wish. `make serve` and `make test` need Python 3.11+, gcc, g++ and make, nothing else.
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: serve test check format bench wheel clean

serve: $(VENV)/.installed ## serve the demo model on http://127.0.0.1:8000
	$(BIN)/reame up

test: $(VENV)/.installed-dev ## run the whole test suite
	$(BIN)/reame pull smollm2-135m
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-dev ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## rewrite in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev ## measure the engine on this machine
	$(BIN)/reame pull smollm2-135m
	$(BIN)/reame bench engine

wheel: $(VENV)/bin/python ## compile llama-cpp-python for this CPU, once
	cluster/build_wheel.sh $(BIN)/python

$(VENV)/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "error: no Python 3.11 or newer found; install one (Debian, Ubuntu: apt-get install python3 python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "error: $(PYTHON) cannot make a virtual environment (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt cluster/build_wheel.sh | $(VENV)/bin/python
	wheel=$$(cluster/build_wheel.sh $(BIN)/python) && $(BIN)/pip install --quiet --constraint constraints.txt "$$wheel" --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,demo]'
	touch $@

clean: ## forget the environment; models and caches stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
