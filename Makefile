# Everything runs in a virtual environment of its own: only python3 (3.11 to 3.14) and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
export OMP_NUM_THREADS ?= 1
OLDEST := "numpy==2.0.*" "scipy==1.13.*" "numba==0.61.*" "scikit-learn==1.6.*" "pyarrow==17.*" "typer==0.15.*" "rich==13.*"

.DEFAULT_GOAL := help
.PHONY: help setup test demo lint types docs slow audit oldest bench-quick lock format clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 15) else f"discreet needs Python 3.11 to 3.14, this is {sys.version}; run: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $(STAMP)

setup: $(STAMP)  ## make the virtual environment from the lock file

test: $(STAMP)   ## unit, law and doc tests (minutes)
	$(BIN)/python -m pytest

demo: $(STAMP)   ## train a private model on census data and say what was promised
	$(BIN)/discreet demo

lint: $(STAMP)   ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP) ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)  ## mypy, strict, over src (settings in pyproject.toml)
	$(BIN)/mypy

docs: $(STAMP)   ## build the documentation; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

slow: $(STAMP)   ## the statistical suite
	$(BIN)/python -m pytest -m slow tests --ignore=tests/audit

audit: $(STAMP)  ## attack every solver at three budgets and under every relation
	$(BIN)/python -m pytest -m slow tests/audit

oldest:          ## scikit-learn's checks with the oldest versions that pyproject.toml allows (an environment of its own)
	test -d .venv-oldest || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet $(OLDEST) -e . pytest pytest-xdist hypothesis mpmath packaging pandas "dask[array]"
	.venv-oldest/bin/python -m pytest -W ignore::pytest.PytestRemovedIn10Warning -m "slow or not slow" \
	  tests/estimators/test_sklearn_contract.py tests/laws/test_curators.py tests/test_randomness.py

bench-quick: $(STAMP)  ## every benchmark, quick settings
	@for f in benchmarks/*.py; do m=$$(basename $$f .py); case $$m in _*) continue;; esac; \
	  echo "== $$m"; $(BIN)/python -m benchmarks.$$m --quick || exit 1; done

lock: $(STAMP)   ## work the lock file out again from pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra dev --extra docs --output-file requirements.lock pyproject.toml

clean:           ## remove everything that was made here
	rm -rf $(VENV) .venv-oldest site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
