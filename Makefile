SPEC ?= specs/flights.yaml
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test bench ui lint docs lock clean setup

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' Makefile

run: setup ## run the main job (another one: make run SPEC=specs/other.yaml; anew: make run ARGS=--fresh)
	@$(BIN)/streams run "$(SPEC)" $(ARGS)

test: lint ## lint, then all tests
	@$(BIN)/python -m pytest

bench: ## measured ratios to the targets, some 15 minutes (one of them, quicker: make bench ARGS='--quick flights')
	@.ci/setup bench
	@$(BIN)/python -m benchmarks $(ARGS)

ui: setup ## Dagster's UI and daemon, on this machine only (another port: make ui ARGS='--port 3001')
	@$(BIN)/streams ui $(ARGS)

lint: setup ## format, lint rules and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright

docs: setup ## write docs/diagnostics.md anew from the table of codes
	@$(BIN)/python -m streams_orchestration.model.diagnostics_page

lock: setup ## write requirements.lock anew from pyproject.toml, keeping the versions that still fit
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group build \
		--generate-hashes --no-annotate --no-header --output-file requirements.lock pyproject.toml

clean: ## drop the environment, caches and builds; results in .streams stay
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis *.egg-info
	find streams_orchestration streams_orchestration_tests -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@.ci/setup
