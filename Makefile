# Kernel Zoo. `make run` brings the site up on this machine; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
COVERAGE := $(BIN)/coverage
PURE := submissions/kernel_package/*,submissions/evaluation/*,submissions/kernel_store/*,runners/protocol.py,runners/capabilities.py,leaderboard/ranking.py
E2E_HOME ?= $(CURDIR)/var/e2e
BENCH_HOME := $(or $(KERNEL_ZOO_HOME),var)
BENCH_PARTS := cpu
PART ?= $(BENCH_PARTS)

.DEFAULT_GOAL := help
.PHONY: help preflight run test test-unit test-e2e test-js coverage check bench bench-quick format clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

preflight: ## say what this machine lacks and how to install it
	@missing=; for pair in g++:g++ git:git bwrap:bubblewrap objdump:binutils $(PYTHON):python3; do \
	  command -v "$${pair%%:*}" >/dev/null 2>&1 || missing="$$missing $${pair##*:}"; done; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -n "$$missing" ]; then \
	  echo "missing on this machine:$$missing" >&2; \
	  echo "install with: sudo apt-get install -y --no-install-recommends$$missing" >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; set PYTHON=python3.11 (or newer)" >&2; exit 1; }

$(RUN_STAMP): requirements.txt pyproject.toml | preflight
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing requirements (a minute or two the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(DEV_STAMP): requirements-dev.txt $(RUN_STAMP)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: preflight $(RUN_STAMP) ## the whole site, with kernels measured on this machine
	@$(BIN)/python manage.py up --open-on-loopback

test: ## every test, with the coverage gates
	@$(MAKE) --no-print-directory test-unit test-e2e test-js coverage

test-unit: $(DEV_STAMP) ## Python and C++ tests of the parts
	@rm -f .coverage .coverage.unit*
	$(COVERAGE) run --data-file=.coverage.unit -m pytest tests/unit

test-e2e: $(DEV_STAMP) ## the whole site in real processes, and the browser
	@rm -f .coverage.e2e*
	$(COVERAGE) run --data-file=.coverage.e2e -m pytest tests/e2e

test-js: ## the browser's modules
	@command -v node >/dev/null || { echo "node is missing; install with: sudo apt-get install -y nodejs" >&2; exit 1; }
	node --test tests/js/

coverage: $(DEV_STAMP) ## combine and judge: pure layers 95 %, all 88 %
	$(COVERAGE) combine --quiet --keep $$(ls .coverage.unit* .coverage.e2e* 2>/dev/null)
	$(COVERAGE) report --include='$(PURE)' --fail-under=95
	$(COVERAGE) report --fail-under=88

check: $(DEV_STAMP) ## format, lint, types, import contracts, migrations, docs
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/ruff check --no-cache .
	$(BIN)/mypy zoo_site leaderboard submissions runners native_bench manage.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m zoo_site.docs --check

bench: ## how good the figures are, beside other tools; PART=cpu for one part, NANOBENCH_INCLUDE for nanobench
bench-quick: ## the same in about a minute per part
bench bench-quick: $(RUN_STAMP)
	@for part in $(PART); do case "$$part" in \
	  cpu) $(BIN)/python -m native_bench.bench_cpu $(if $(filter bench-quick,$@),--quick) --home "$(BENCH_HOME)" \
	    $(if $(NANOBENCH_INCLUDE),--nanobench-include "$(NANOBENCH_INCLUDE)") || exit 1;; \
	  *) echo "the bench has no part $$part; its parts: $(BENCH_PARTS)" >&2; exit 2;; esac; done

format: $(DEV_STAMP) ## rewrite the code in the common format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and what tests leave (never var/)
	rm -rf $(VENV) .coverage* .pytest_cache .mypy_cache .ruff_cache
