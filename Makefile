# `make test` and `make demo` are all a fresh clone needs; both build .venv first.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: test demo lint browser server docs bench test-oldest clean

# One process for each processor, and one thread for each process: linear algebra must not start more.
test: lint browser server
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page of results is read in a real Chromium; without one, that test is skipped and says so.
browser:
	sh tests/install_chromium.sh

# Workers share a study in a real PostgreSQL; without one, that test is skipped and says so.
server:
	sh tests/install_postgresql.sh

demo: $(STAMP)
	$(BIN)/orbandit demo

# The site in out/site, to be opened from there; warnings are errors.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/symmetry.py
	$(BIN)/python benchmarks/find_symmetry.py
	$(BIN)/python benchmarks/meshes.py
	$(BIN)/python benchmarks/rounds.py
	$(BIN)/python benchmarks/adaptive.py
	$(BIN)/python benchmarks/alternatives.py
	$(BIN)/python benchmarks/experiments.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/gp.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/acquisition.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/integrations.py
	$(BIN)/python benchmarks/studies.py
	$(BIN)/python benchmarks/units.py --quick --rivals group plain

# The lower bounds of pyproject.toml, tried for real in an environment of their own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[test]'
	.venv-oldest/bin/python -m pytest -n auto --dist worksteal

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-oldest .mypy_cache .pytest_cache .ruff_cache .hypothesis out
