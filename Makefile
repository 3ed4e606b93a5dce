# Everything a contributor does. Needs Python 3.11 or newer and make; the rest is installed into .venv.
# `make` alone prints this help: the text after ## beside each target.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.NOTPARALLEL: # two cores; `test` says itself what runs beside what
SHELL := /bin/sh

PYTHON ?= $(shell for p in python3 python3.12 python3.13 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done; echo python3)
BIN := .venv/bin
STAMP := .venv/.installed
DEMO_SECONDS ?= 60
ARGS ?=
SELECTED = $(if $(FULL),,-m "not slow") $(if $(CI),--durations=30)
export DEMO_SECONDS
unexport PYTHONDONTWRITEBYTECODE # set in some containers: every start of Python would compile all that it imports

##@ Start here
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "make TARGET [ARGS=\"…\"]" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Install everything, and fetch the jars for Spark if they are missing
	@$(BIN)/penstock setup

demo: setup ## Run the orders pipeline on arriving data for DEMO_SECONDS (60)
	@$(BIN)/python tools/demo.py

test: $(STAMP) ## Run the tests, as CI does (FULL=1 for the slow ones too)
	@# Suites with servers, kills and a browser wait for much of their time, so two lanes of them, of the same length, run
	@# beside the suites that keep two processes busy to the last test; what the lanes print comes at the end.
	@logs=$$(mktemp -d); make="$(MAKE) --no-print-directory --keep-going"; \
	$$make $(BESIDE) test-integration PART='[!a-c]' >"$$logs/1" 2>&1 & servers=$$!; \
	$$make test-faults test-browser $(AFTER) test-integration PART='[a-c]' >"$$logs/2" 2>&1 & faults=$$!; \
	$$make test-unit test-spark SESSIONS=2; code=$$?; \
	wait $$servers || code=1; wait $$faults || code=1; cat "$$logs"/*; rm -r "$$logs"; exit $$code

check: $(STAMP) ## What CI runs: format, lint, types, layers, then all tests and the small benchmarks
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(MAKE) --no-print-directory test BESIDE="types layers" AFTER=benchmarks-smoke

##@ While writing
fmt: $(STAMP) ## Format the code and fix what the linter can fix
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

lint: $(STAMP) ## Check the code's style
	@$(BIN)/ruff check .

types: $(STAMP) ## Check the types (mypy --strict)
	@$(BIN)/mypy

layers: $(STAMP) ## Check that no package imports a higher one
	@$(BIN)/lint-imports --no-logo

test-unit: $(STAMP) ## Tests without a JVM (ARGS="-k name" for some)
	@$(BIN)/python -m pytest -q -n logical tests/unit tests/golden tests/repo $(if $(CI),--durations=30) $(ARGS)

test-spark: setup ## Tests on a local Spark session (FULL=1 for all; SESSIONS=2: two processes share the files)
	@$(BIN)/python -m pytest -q tests/spark $(if $(SESSIONS),-n $(SESSIONS) --dist loadfile) $(SELECTED) $(ARGS)

test-integration: setup ## Tests against real servers that they start on loopback (FULL=1 for all; PART='[a-d]': by first letter)
	@$(BIN)/python -m pytest -q tests/integration/test_$(PART)*.py $(SELECTED) $(ARGS)

test-browser: $(STAMP) ## Tests of the dashboard in Chromium (FULL=1 for all)
	@$(BIN)/python -m pytest -q tests/browser $(SELECTED) $(ARGS)

test-changed: setup ## Tests that import or name what differs from main (BASE=commit for another base)
	@tests=$$($(BIN)/python tools/changed_tests.py $(BASE)); \
	if [ -z "$$tests" ]; then echo "No test imports or names what has changed"; \
	else $(BIN)/python -m pytest -q $$tests $(SELECTED) $(ARGS); fi

test-plain: setup ## Tests on one Spark session with every accelerator off
	@PENSTOCK_ACCELERATORS=off $(BIN)/python -m pytest -q tests/spark -m "not accelerated$(if $(FULL),, and not slow)" $(ARGS)

test-full: setup ## Tests that CI leaves out, an hour a call, and docs/evidence anew (ARGS=600: ten minutes)
	@$(BIN)/python tools/full_tests.py $(ARGS)

test-faults: setup ## Kill -9 and broken disks, the reduced set (FULL=1 for all)
	@$(BIN)/python -m pytest -q tests/faults $(SELECTED) $(ARGS)

##@ Measure and publish
bench: $(STAMP) ## Run the benchmarks and print their table
	@$(BIN)/python benchmarks/run.py $(ARGS)

benchmarks-smoke: setup ## Run every benchmark in a tiny size: shows that they work, says nothing about speed
	@$(BIN)/python benchmarks/run.py --quick

docs: $(STAMP) ## Build docs/ as a site with search into .docs/site; a link that leads nowhere ends it
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@$(BIN)/python tools/build_docs.py $(ARGS)

docs-check: $(STAMP) ## Check the documentation: links, commands and generated parts
	@$(BIN)/python -m pytest -q tests/repo $(ARGS)

java: $(STAMP) ## Compile java/ into the jar that Penstock ships
	@$(BIN)/python tools/compile_java.py $(ARGS)

lock: $(STAMP) ## Write the hashed requirement locks anew from pyproject.toml
	@$(BIN)/python tools/lock_requirements.py $(ARGS)

clean: ## Remove what `make` made, except the user's cache of jars
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .demo .bench build dist

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
		"Penstock needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + \
		". Install one, or name it: make PYTHON=/path/to/python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the locked requirements into .venv (about two minutes the first time)"
	@# Not compiled: Python does that for what is imported, which is a part of it.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

.PHONY: help setup demo test check fmt lint types layers test-unit test-spark test-integration test-browser test-faults \
	test-changed test-full test-plain bench benchmarks-smoke docs docs-check java lock clean
