SPEC ?= specs/flights.yaml
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup

# Without bytecode, which container images often forbid, each of the many processes would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run quick test deep simulate bench ui kafka servers lint audit docs page lock clean tested compiled setup

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

run: setup ## run the main job (another one: make run SPEC=specs/other.yaml; from the beginning: make run ARGS=--fresh)
	@$(BIN)/streams run "$(SPEC)" $(ARGS)

quick: setup ## the tests that need no server and no Java, in a minute or two
	@$(PYTEST) -m quick --hypothesis-profile quick $(ARGS)

test: setup ## lint and all tests but those of make deep, at the same time
	@$(MAKE) --no-print-directory -j 2 lint tested

deep: setup ## long searches: chaos, every course of events, twenty times the examples; some hours
	@$(PYTEST) -m 'deep or hypothesis' --hypothesis-profile deep --timeout 7200 $(ARGS)

simulate: setup ## the product's own code under 10,000 simulated faults, some minutes (others: make simulate ARGS='--seed 10000')
	@$(BIN)/python -m streams_orchestration_tests.simulation --piece 10000 $(ARGS)

bench: ## measured ratios to the targets, some 15 minutes (one of them, quicker: make bench ARGS='--quick flights')
	@.ci/setup bench
	@$(BIN)/python -m benchmarks $(ARGS)

ui: setup ## Dagster's UI and daemon, on this machine only (another port: make ui ARGS='--port 3001')
	@$(BIN)/streams ui $(ARGS)

kafka: setup ## a Kafka broker for trying out, on this machine only, until Ctrl-C (make kafka ARGS='--topics clicks:4')
	@$(BIN)/python -m streams_orchestration_tests.servers.kafka $(ARGS)

servers: ## install the servers and the browser that some tests start, as Debian's packages; needs root
	@.ci/servers

lint: setup ## format, lint rules and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/pyright # megabytes; with more room it collects garbage less often

audit: setup ## compare requirements.lock with the known vulnerabilities; needs a network
	@.ci/audit

docs: setup ## write the pages that come from tables and docstrings: diagnostics, the tour, operators, functions, the operators of Python, metrics
	@$(BIN)/python -m streams_orchestration_tests.generated.files
	@$(BIN)/ruff format -q streams_orchestration/builder/operators.py streams_orchestration/builder/functions.py

page: ## build the console's page again; needs Node.js
	@cd streams_orchestration/console/page && npm ci --ignore-scripts --silent && cp package-lock.json node_modules/.installed && npm run --silent check && npm run --silent build

lock: setup ## rewrite requirements.lock from pyproject.toml, keeping the versions that still fit
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group build \
		--generate-hashes --no-annotate --no-header --output-file requirements.lock pyproject.toml

clean: ## drop the environment, caches and builds; results in .streams stay
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis *.egg-info
	find streams_orchestration streams_orchestration_tests -name __pycache__ -type d -prune -exec rm -rf {} +

tested: compiled
	@$(PYTEST) -m 'not deep' $(ARGS)

# The bytecode of the tests, which each worker would make otherwise; a few new modules are left to the workers. What
# cannot be collected is reported by the tests. Then the archive of Spark's classes, which the tests can do without.
compiled: setup
	@if ! [ -e .venv/compiled ] || [ "$$(find streams_orchestration_tests -name '*.py' -newer .venv/compiled | wc -l)" -gt 50 ]; then \
		touch .venv/compiled; $(BIN)/python -m pytest --collect-only -q -n 0 > /dev/null 2>&1 || true; \
	fi
	@$(BIN)/python -m streams_orchestration_tests.spark_classes > /dev/null || true

setup:
	@.ci/setup
