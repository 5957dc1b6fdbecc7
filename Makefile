# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Without a GPU this index-free pin takes the CPU build where one lies at hand; constraints.txt pins the rest.
EXTRAS := torch,gpu-data,captures,dev

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("servingsim needs Python 3.11 to 3.14; set PYTHON=... (found %s)" % sys.version.split()[0] if not (3, 11) <= sys.version_info[:2] < (3, 15) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

install: $(STAMP)  ## create .venv with everything in it

demo: $(STAMP)  ## profile, predict and check a real model on this machine, then Llama-3.1-8B on H100
	$(BIN)/servingsim demo

test: $(STAMP)  ## the tests, but for the long ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -q -m "not long"

test-long: $(STAMP)  ## the long tests: the worked example with its replay, every tool over every transport, variations
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m long

check: $(STAMP)  ## lint, types, imports, generated documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m server.reference --check

docs: $(STAMP)  ## write the generated documents and schemas from the code
	$(BIN)/python -m server.reference

bench: $(STAMP)  ## fidelity on held-out GPU rows and evaluation speed; writes build/bench.json
	$(BIN)/python -m benchmarks

accuracy: $(STAMP)  ## measure every claim about accuracy; writes build/accuracy.json, ACCURACY.md and the errors that predictions print
	test -d build/wheels || $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest build/wheels \
	  aiconfigurator==0.10.0 || echo "without the older kernel tables some published engine runs stay untold"
	$(BIN)/python -m benchmarks.accuracy $(if $(AREA),--area $(AREA))

worked-example: $(STAMP)  ## run the worked example and write its page
	$(BIN)/python -m tests.worked_example.transcript

clean:  ## remove what the targets made, the environment too
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help install demo test test-long check docs bench accuracy worked-example clean
