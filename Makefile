# Everything runs from a bare checkout: the venv is made on first use.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1

.PHONY: setup run test lint bench eval clean

setup: $(VENV)/.ready

# torch first and alone: its pin is a CPU build where one is offered, and the rest must not pull another.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

run: setup
	$(BIN)/strata serve --demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

bench: setup
	$(BIN)/strata bench $(BENCH_ARGS)

eval: setup
	$(BIN)/strata eval suites --out eval-runs $(EVAL_ARGS)

clean:
	rm -rf $(VENV) .strata
