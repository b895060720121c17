# How to work on this project, one target each. Everything lives in .venv; nothing outside is changed.
# Another interpreter: make test PYTHON=python3.12

VENV := .venv
# a quarter of the time of the tests is waiting
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := $(VENV)/bin
# hundreds of processes start in the tests: compiled once, our modules and what they need load in half the time
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python .ci/install
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: help demo test lint types tests bench reference clean

# What there is (the default)
help:
	@awk '/^# /{text=substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-9s %s\n", $$0, text}' Makefile

# Show it: a knowledge repository from the template, filled, searched by meaning, edited, searched again
demo: $(VENV)/installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh .ci/demo

# All that must be true before a commit: lint, then types and tests side by side. This is what CI runs
test: lint
	@$(MAKE) --no-print-directory -j 2 types tests

# Lint and formatting
lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Types, strict
types: $(VENV)/dev
	$(BIN)/mypy

# The tests, in one process more than there are cores; some only: make tests ARGS="tests/git -k hooks"
tests: $(VENV)/collected
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

# The bars of speed; read docs/benchmarks.md first: it takes minutes
bench: $(VENV)/dev
	$(BIN)/python -m bench.speed $(ARGS)

# What docs/reference says of commands, tools and settings, from their declarations
reference: $(VENV)/dev
	$(BIN)/python .ci/reference.py

# Take away what the other targets made
clean:
	rm -rf $(VENV) .venv-newest .venv-axe .venv-hosts .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { echo "on Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	@echo "installing ai-lessons and what it needs into $(VENV) (some seconds with uv, a minute or two with pip, once)"
	@$(INSTALL) --editable .
	@touch $@

# dependency groups came with pip 25.1, and the pip of a new venv may be older: the list is read from the file instead
$(VENV)/dev: $(VENV)/installed
	@echo "installing the tools for tests into $(VENV)"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/dev.txt
	@$(INSTALL) --editable ".[intake,checks,otel]" --requirement $(VENV)/dev.txt
	@touch $@

# one process compiles what in a fresh clone each process of the tests would compile for itself
$(VENV)/collected: $(VENV)/dev
	@$(BIN)/python -m pytest -q --collect-only $(ARGS) >/dev/null || true
	@touch $@
