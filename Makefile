# Every target works on a fresh clone with Python >= 3.11, pip and make.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
PACKAGE := $(VENV)/.package-done
STAMP   := $(VENV)/.setup-done
BENCH   ?=
LIVE_KILLS ?=
LIVE_FIGURES := accuracy intervals flags onward drifts detection
MUTANTS ?= 30
DATA    ?= $(wildcard ../shared/data)
# Small matrices on shared machines: a second BLAS thread waits more than it works.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Tests start the command often, and each process of them imports all tests: compiled once.
export PYTHONDONTWRITEBYTECODE :=
PYTEST ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo live-demo check-live live-kills live-figures broker test pytest coverage lint docs snippets browser paper bench bench-accuracy check-long clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: $(STAMP)  ## make .venv: the package (editable), all extras, the test tools

# What a user needs, and nothing else: the demo asks for no more.
$(PACKAGE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

# pip comes first: the one that venv brings may be too old for --group.
$(STAMP): $(PACKAGE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
	  --editable '.[sklearn,netcdf,paper,postgres,live,dask]' --group dev
	@touch $@

demo: $(PACKAGE)  ## a simulated network, recovered; its report opens
	$(BIN)/fieldmend demo

# Lint runs beside the tests: some of these mostly wait.
test: setup  ## lint, and all tests but the long ones (PYTEST='-k prox' to choose)
	@$(MAKE) --no-print-directory broker || echo "no mosquitto: the tests of live with a broker are skipped"
	@$(MAKE) --no-print-directory browser || echo "no Chromium: the report's browser tests are skipped"
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

# A file of tests to each process: what a file sets up, it sets up once. One process more than there
# are cores: tests of brokers, servers and killed commands mostly wait.
pytest: setup
	$(BIN)/python -m pytest -n $$(($$($(PYTHON) -c 'import os; print(os.cpu_count())') + 1)) --dist loadfile $(PYTEST)

coverage: setup  ## the same tests, with the lines and branches they miss
	$(BIN)/python -m pytest --cov $(PYTEST)

lint: setup  ## style, types, import direction, docstrings, repository checklist
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python docs/docstrings.py
	$(BIN)/sp-repo-review . --show err

docs: setup  ## the pages as HTML, in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

snippets: setup  ## put the true output into README.md and docs/
	$(BIN)/python docs/generate_cli.py
	$(BIN)/python docs/snippets.py --write

# Debian's own too; the tests start it themselves, on 127.0.0.1 and a port of their own.
broker:  ## mosquitto for the tests of live (Debian, as root)
	command -v mosquitto >/dev/null || test -x /usr/sbin/mosquitto || \
	  { apt-get update -qq && apt-get install -y -qq mosquitto; }

live-demo: setup  ## a simulated network that runs, its page at http://127.0.0.1:8765; ends with Ctrl-C
	@$(MAKE) --no-print-directory broker || echo "no mosquitto: nodes send by HTTP"
	$(BIN)/python examples/live_demo.py

# LIVE_KILLS='--readings 100000 --posted 100000 --kills 10' for a short form. Kills mostly wait, so
# figures are measured beside them; what is measured in seconds comes last, alone.
check-live: setup  ## live killed under traffic, its accuracy, detection and speed (an hour)
	@$(MAKE) --no-print-directory broker || echo "no mosquitto: what needs it is left out"
	@$(MAKE) --no-print-directory browser || echo "no Chromium: the page's tests are skipped"
	@$(MAKE) --no-print-directory pytest PYTEST="-m 'long or not long' $(wildcard tests/test_live*.py)"
	@$(MAKE) --no-print-directory --jobs 2 live-kills live-figures
	$(BIN)/python benchmarks/live_speed.py
	$(BIN)/python benchmarks/live_readers.py

live-kills:
	$(BIN)/python benchmarks/live_kills.py $(LIVE_KILLS)

live-figures:
	set -e; for part in $(LIVE_FIGURES); do echo "live_$$part"; $(BIN)/python benchmarks/live_$$part.py; done

# Debian's own: the tests of the report drive it, and are skipped by name where it is not there.
browser:  ## Chromium for the tests of the report (Debian, as root)
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }

# Goes on where it was stopped. Data sets that are not in DATA are simulated, and labelled so.
paper: setup  ## the paper's tables, figures and claims into docs/paper (DATA=folder, 20 minutes)
	$(BIN)/fieldmend paper --out docs/paper --force $(if $(DATA),--data $(DATA))

bench: setup  ## speed and accuracy beside peers (BENCH='...' is handed to benchmarks/run.py)
	$(BIN)/python benchmarks/run.py $(BENCH)

bench-accuracy: setup  ## errors, detection and coverage beside peers
	$(BIN)/python benchmarks/accuracy.py $(BENCH)

check-long: setup  ## the tests that take minutes; do the tests bite? (MUTANTS=30 of each package)
	$(BIN)/python -m pytest -m long --log-cli-level=INFO $(PYTEST)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group mutation
	$(BIN)/python tests/mutation.py --mutants $(MUTANTS)

clean:  ## remove what the tools wrote, .venv included
	rm -rf $(VENV) build dist docs/_build htmlcov .coverage .hypothesis .import_linter_cache \
	  .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
