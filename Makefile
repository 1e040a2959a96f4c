# What people type; `make` alone lists it. Everything runs in the virtual environment that is active.
.PHONY: help lint format test test-fast test-slow bench docs
help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
lint: ## style, types, import rules
	ruff check . && ruff format --check . && mypy && lint-imports
format: ## mend what can be mended
	ruff check --fix . && ruff format .
test: ## the default run, minutes
	pytest
test-fast: ## without browsers, processes, pipelines and edits of results
	pytest --ignore tests/browser --ignore tests/cli --ignore tests/pipeline --ignore tests/shared_data --ignore tests/verify
test-slow: ## the whole lists of edits, attacks and examples
	pytest -m slow
bench: ## the benchmarks, each once and in short; see benchmarks/README.md
	for name in ranking bootstrap selective; do python benchmarks/$$name.py --quick || exit 1; done
docs: ## the site in site/, with the Python reference; a warning is an error
	mkdocs build --strict
