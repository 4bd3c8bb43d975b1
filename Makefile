# One command each: app, test, lint. Every target makes what it needs first; the second time that takes no time.

VENV := .venv
BIN := $(VENV)/bin
PORT ?= $(or $(GRADIO_SERVER_PORT),7860)
FUZZ_EXAMPLES ?= 20000
# What lint and the tests in node need, as package-lock.json pins it; nothing of it is part of the page.
NODE_MODULES := { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; }
# All files in one process: one for each takes as long to start as most of them take.
NODE_TESTS := node --test-reporter=spec -e 'for (const file of process.argv.slice(1)) import("./" + file)'
JAVASCRIPT := '{assets,tests}/**/*.{js,mjs,d.ts}' eslint.config.js
# Only what is imported is compiled, when it first is: of torch and its like that is little, and a fresh machine waits less.
# So what is compiled must be kept, even where the machine says otherwise: else every start takes twice as long.
export PYTHONDONTWRITEBYTECODE :=
# CPU=1: PyTorch's builds without CUDA, of the same versions, which spare a machine without an NVIDIA GPU gigabytes.
TORCH := $(if $(CPU),--extra-index-url https://download.pytorch.org/whl/cpu)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help setup dev browser app test test-js test-slow test-gpu test-firefox lighthouse fuzz lint \
	lint-py lint-js format clean
.DEFAULT_GOAL := help

help:
	@echo "make app        serve the page on 127.0.0.1:PORT (default 7860)"
	@echo "make test       all tests but the slow ones, a real browser included"
	@echo "make test-js    only those of the viewer's logic (needs node)"
	@echo "make test-slow  the slow ones"
	@echo "make test-firefox  the journeys in Firefox, which is installed where that can be (Debian's firefox-esr)"
	@echo "make lighthouse  Lighthouse's phone profile on the page and the static site (npm fetches it; an idle machine)"
	@echo "make test-gpu   those that need an NVIDIA GPU; installs nothing, so that it runs without a network"
	@echo "make fuzz       every reader fed with FUZZ_EXAMPLES odd inputs (default 20000), in Python and node; an hour"
	@echo "make lint       ruff, mypy, hadolint for the Dockerfile; eslint, TypeScript's checker and prettier for JavaScript"
	@echo "make lint-py    only those of Python and the Dockerfile"
	@echo "make lint-js    only those of JavaScript (needs node)"
	@echo "make format     let ruff and prettier format the code"
	@echo "     CPU=1      with app, test or setup: PyTorch without CUDA, gigabytes less on Linux"
	@echo "make setup      only make .venv and install the run-time requirements"
	@echo "make clean      remove caches and .venv"

setup: $(VENV)/.stamp-runtime

dev: $(VENV)/.stamp-dev

# python3 where it is in range, because that is the one people expect; else a version by name.
$(VENV)/.stamp-venv:
	@if $(BIN)/python -m pip --version >/dev/null 2>&1; then touch $@; exit 0; fi; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
		if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then \
			found="$$candidate"; break; \
		fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "error: no Python from 3.11 to 3.14 found (tried $(PYTHON), python3 and python3.11 to python3.14)." >&2; \
		echo "Install one of them, or name it: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.12" >&2; exit 1; \
	fi; \
	"$$found" -m venv $(VENV) || { \
		echo "error: $$found cannot make a virtual environment; on Debian install the package python3-venv." >&2; exit 1; }
	@touch $@

$(VENV)/.stamp-runtime: requirements.txt $(VENV)/.stamp-venv
	$(PIP) $(TORCH) -r requirements.txt
	@touch $@

# Both lists at once: pip then looks at what there is, and decides, once.
$(VENV)/.stamp-dev: requirements-dev.txt requirements.txt $(VENV)/.stamp-venv
	$(PIP) $(TORCH) -r requirements.txt -r requirements-dev.txt
	@touch $(VENV)/.stamp-runtime $@

browser: dev
	@$(BIN)/python -m tests.browser

app: setup
	PORT=$(PORT) $(BIN)/python app.py

# The viewer's pure logic; everything that it decides is also tested through the page, so node is not required.
test-js:
	@if ! command -v node >/dev/null; then echo "node not found: test-js skipped"; exit 0; fi; \
	$(NODE_TESTS) tests/viewer/*.test.mjs || exit 1; \
	if $(NODE_MODULES); then $(NODE_TESTS) tests/viewer/fuzz/*.test.mjs; \
	else echo "fast-check could not be installed (npm ci): the fuzz tests in node are skipped"; fi

fuzz: dev
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/fuzz -q -n 2
	@if ! command -v node >/dev/null; then echo "node not found: only Python was fuzzed"; exit 0; fi; \
	$(NODE_MODULES) && FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) node --test tests/viewer/fuzz/*.test.mjs

# Once, all that the tests import is compiled by one process: else each of those that begin together does all of it.
$(VENV)/.stamp-compiled: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest --collect-only -q >/dev/null
	@touch $@

# One thread a process: the models of the tests are so small that a second one waits more than it works. Files go in
# the order that tests/conftest.py gives them: xdist's own begins with those of many tests, which are not the long ones.
test: dev browser test-js $(VENV)/.stamp-compiled
	OMP_NUM_THREADS=$(or $(OMP_NUM_THREADS),1) $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder \
		--durations=20 $(PYTEST_ARGS)

test-slow: dev
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)
	@if command -v node >/dev/null; then SLOW=1 $(NODE_TESTS) tests/viewer/*.test.mjs; fi

test-firefox: dev
	$(BIN)/python -m pytest -m firefox tests/ui/journeys $(PYTEST_ARGS)

lighthouse: dev
	$(BIN)/python -m tests.lighthouse

# What a machine with a GPU has is used as it is: there may be no network to install anything from, and other versions
# warn of other things. Only the files that have such tests are read, as others import what may not be there.
test-gpu:
	$(or $(wildcard $(BIN)/python),python3) -m pytest -m gpu -o filterwarnings= $(PYTEST_ARGS) \
		$$(grep -rl --include='test_*.py' 'pytest[.]mark[.]gpu' tests)

lint: lint-py lint-js

lint-py: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile

# Where node is missing a person is told so; in CI (CI=true, as every hosted one sets it) that is an error.
lint-js format: export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
lint-js:
	@if ! command -v node >/dev/null; then \
		echo "node not found: the JavaScript is not linted" >&2; [ "$(CI)" != true ]; exit; \
	fi; \
	$(NODE_MODULES) || { \
		echo "eslint, prettier and typescript could not be installed (npm ci): the JavaScript is not linted" >&2; \
		[ "$(CI)" != true ]; exit; \
	}; \
	set -ex; eslint assets tests eslint.config.js; tsc; prettier --check --log-level warn $(JAVASCRIPT)

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@if command -v node >/dev/null && $(NODE_MODULES); then prettier --write --log-level warn $(JAVASCRIPT); fi

clean:
	rm -rf $(VENV) node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis test-results
