# gitbot: everything a person or a machine runs. Needs python 3.11+, git and make.
SHELL := /bin/sh
.DEFAULT_GOAL := help

TIERS ?= fast
REQUIRE ?=
DATA ?=
SEEDS ?= 2000000
MORNINGS ?= 200000
START ?= 0
JOBS ?= 2
VENV := .venv
PY := $(VENV)/bin/python
# pip reads no configuration of the person for what gitbot installs, but keeps the machine's index.
PIP := $(PY) -m pip --disable-pip-version-check --quiet --no-input

.PHONY: help demo test coverage lint format docs bench conformance long mornings torture mutants controlplane controlplane-up controlplane-down wheel clean

help: ## Say what can be done
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(PY):
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	  if command -v $$python >/dev/null 2>&1 && \
	     $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "gitbot: making $(VENV) with $$python" >&2; \
	    exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "gitbot needs Python 3.11 or newer: install it, then run make again" >&2; exit 2

# The version of gitbot is that of the commit: this file changes with each.
COMMITS := $(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null))

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml $(COMMITS) | $(PY)
	@echo "gitbot: installing what gitbot needs (locked by hash)" >&2
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.development: requirements/dev.txt pyproject.toml $(COMMITS) | $(PY)
	@echo "gitbot: installing what the tests need (locked by hash)" >&2
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.runtime

$(VENV)/.bench: requirements/bench.txt $(VENV)/.development
	@echo "gitbot: installing the solver that benchmarks compare with (locked by hash)" >&2
	@$(PIP) install --require-hashes -r requirements/bench.txt
	@touch $@

$(VENV)/.docs: requirements/docs.txt | $(PY)
	@echo "gitbot: installing what the documentation needs (locked by hash)" >&2
	@$(PIP) install --require-hashes -r requirements/docs.txt
	@touch $@

demo: $(VENV)/.runtime ## Show the whole loop on an embedded cluster and a local forge
	@$(PY) -m gitbot demo

test: $(VENV)/.development ## Run the checks and tests (TIERS=fast|slow|deep|all, REQUIRE=all makes a skip fail)
	@$(PY) -m tests.tiers --tiers "$(TIERS)" --require "$(REQUIRE)"

coverage: $(VENV)/.development ## Run the fast tests, count what they reach, and fail below the bound
	@$(PY) -m tests.tiers --tiers fast --require fast

lint: $(VENV)/.development ## Run only the checks: ruff, import contracts, mypy
	@$(PY) -m tests.tiers --tiers lint

format: $(VENV)/.development ## Format the code
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

docs: $(VENV)/.docs ## Build the documentation as a site into build/docs (needs npm once)
	@$(PY) -m tests.forge.npm mermaid >/dev/null
	@rm -rf build/docs # a page that is gone leaves nothing
	@$(PY) -m sphinx -q -E -W --keep-going -c docs/site -d build/doctrees . build/docs
	@echo "gitbot: open build/docs/index.html" >&2

bench: $(VENV)/.bench ## Run the benchmarks and print their figures (DATA=DIR: public instances lie there)
	@$(PY) -m tests.bench $(if $(DATA),--data "$(DATA)")

conformance: $(VENV)/.development ## Ask the cases of CEL's specification (DATA=DIR: a clone of google/cel-spec)
	@$(PY) -m tests.conformance --data "$(DATA)"

long: $(VENV)/.development ## Mutation tests and full-size searches (hours; DATA=DIR: public instances too)
	@$(PY) -m tests.tiers --tiers long $(if $(DATA),--data "$(DATA)")

mornings: $(VENV)/.development ## Plans of random mornings, checked (MORNINGS=200000, START=0, DIR=folder for the faults)
	@$(PY) -m tests.laws.test_mornings "$(START)" "$(MORNINGS)" $(if $(DIR),"$(DIR)")

torture: $(VENV)/.development ## Simulate bots, cluster, Git, forge and people under faults (SEEDS=2000000, START=0, JOBS=2)
	@$(PY) -m tests.torture --seeds "$(SEEDS)" --start "$(START)" --jobs "$(JOBS)"

mutants: $(VENV)/.development ## Change single lines of what decides, and name what no test notices (hours)
	@$(PY) -m tests.torture.mutants

controlplane: $(VENV)/.development ## Build etcd, kube-apiserver, kube-scheduler, kube-controller-manager (needs Go)
	@$(PY) -m tests.controlplane.build

controlplane-up: $(VENV)/.development ## Start a real control plane for yourself, with nodes and the VMs of customapp
	@$(PY) -m tests.controlplane.person up

controlplane-down: $(VENV)/.development ## End it
	@$(PY) -m tests.controlplane.person down

wheel: $(VENV)/.development ## Build the wheel into dist/
	@$(PY) -m hatchling build -t wheel

clean: ## Remove the environment and all caches
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
