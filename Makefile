# make demo and make test are all a newcomer needs; both begin with make install.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# TensorFlow's C++ start-up messages would bury what the commands print.
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: install demo test test-slow lint types docs bench tables check-tables notebooks presets-wheel clean

install: .venv/.installed

.venv/.installed: setup.py dense_lstm_zoo_runtime/pyproject.toml presets/pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed: make install PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@echo "Installing TensorFlow and the rest into .venv: a few minutes and 3.5 GB the first time."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ./dense_lstm_zoo_runtime --editable '.[dev]' --editable presets
	@touch $@

demo: install
	$(BIN)/python -m benchmarks.demo

# Two processes: one would leave a core idle most of the time. Tests stay in their order, so that fixtures are shared.
test: install
	$(BIN)/python -m pytest -n 2 --dist worksteal

# In parts: what XLA compiles stays in memory as long as its process, and all the tests together need 25 GB.
test-slow: install
	@status=0; for part in a-d e-k l m-q r-z; do \
		$(BIN)/python -m pytest -m slow -n 2 --dist worksteal tests/test_[$$part]*.py || status=1; done; exit $$status

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

docs: install
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build

bench: install
	$(BIN)/python -m benchmarks.speed

tables: install
	$(BIN)/python -m benchmarks.tables

# Fails where a table or a figure of a page is not what the rows say.
check-tables: install
	$(BIN)/python -m benchmarks.tables --check

presets-wheel: install
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./presets

notebooks: install
	$(BIN)/python notebooks/execute.py

clean:
	rm -rf .venv build docs/_build docs/generated *.egg-info .pytest_cache .mypy_cache .ruff_cache
