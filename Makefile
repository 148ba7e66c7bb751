# Every target makes its own virtual environment from pinned versions; nothing else has to be typed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input
CORES  ?= 2
# Tests run side by side already: libraries of linear algebra must not take the cores again.
export OPENBLAS_NUM_THREADS ?= 1
# Hundreds of processes of the tests import the same modules: they are compiled once.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test quick fast lint types tools browser r unit docs picture bench calibrate fuzz mutants lock minimum clean help

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/run.stamp  ## the main job on the bundled data
	$(BIN)/understudy demo

test: $(VENV)/test.stamp  ## everything that must hold
	@$(MAKE) --no-print-directory -j $(CORES) --output-sync=target lint types docs tools
	@$(MAKE) --no-print-directory unit

quick: $(VENV)/test.stamp  ## what to run while coding: style, types and the fast tests
	@$(MAKE) --no-print-directory -j 3 lint types fast

fast: $(VENV)/test.stamp  ## the fast tests
	$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder -m "not slow"

lint: $(VENV)/test.stamp  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp  ## static types
	$(BIN)/mypy

tools:
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory r

browser:  ## a Chromium to test the report with; installed where that is possible
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	  || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
	       && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	  || { echo "no Chromium here, and the report is tested in one: install it (Debian: apt-get install" \
	       "chromium, as root), then try again"; exit 2; }

r:  ## R, to test the bridge with; installed where that is possible, else those tests are skipped
	@command -v Rscript || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	     r-base-core r-cran-haven r-cran-reticulate >/dev/null; } || echo "no R here: its tests are skipped"

unit: $(VENV)/test.stamp  ## tests in parallel, with the coverage gate
	rm -f .coverage .coverage.*
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder --cov --cov-report=term

docs: $(VENV)/test.stamp  ## the site, in docs/_build/html; needs no network
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

picture: $(VENV)/test.stamp browser  ## renew the pictures of the report, from the demonstration
	$(BIN)/understudy demo || true
	$(BIN)/python -m tests.browser.picture understudy-demo/internal/report.html docs/_static

bench: $(VENV)/test.stamp  ## speed, as ratios measured in one run
	$(BIN)/python -m benchmarks

calibrate: $(VENV)/test.stamp  ## simulation-based calibration with 1,000 simulations
	UNDERSTUDY_CALIBRATE=1000 $(BIN)/python -m pytest -n $(CORES) tests/statistics -k ranks

fuzz: $(VENV)/test.stamp  ## 20,000 damaged files of every foreign format
	UNDERSTUDY_DAMAGED_FILES=20000 $(BIN)/python -m pytest -n $(CORES) tests/microdata/test_damaged_files.py

mutants: $(VENV)/test.stamp  ## plant bugs in samplers, judging and release; every one must break a test
	$(BIN)/python -m tests.mutants

lock:  ## renew the pinned versions (the only target that asks for newer ones)
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet uv
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  pyproject.toml requirements/build.in --output-file requirements/run.txt
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  --extra test --extra docs --constraint requirements/run.txt \
	  pyproject.toml requirements/build.in --output-file requirements/test.txt
	$(VENV)/lock/bin/uv pip compile --quiet --python-version 3.11 --resolution lowest-direct --only-binary :all: \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  pyproject.toml --output-file requirements/minimum.txt

minimum: $(VENV)/oldest.stamp  ## the fast tests with the oldest versions that pyproject.toml allows
	$(VENV)/oldest/bin/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder -m "not slow" \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning \
	  --ignore tests/test_requirements.py

clean:  ## remove what the other targets made
	rm -rf $(VENV) understudy-demo docs/_build .coverage .coverage.* .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "understudy needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "no venv module here: install it (Debian: python3-venv), then try again"; exit 2; }

$(VENV)/run.stamp: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --no-deps --require-hashes --requirement requirements/run.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/oldest.stamp: requirements/minimum.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)/oldest
	$(VENV)/oldest/bin/python -m pip install --quiet --constraint requirements/minimum.txt --editable ".[test]"
	@touch $@

$(VENV)/test.stamp: requirements/test.txt $(VENV)/run.stamp
	$(PIP) install --quiet --no-deps --require-hashes --requirement requirements/test.txt
	@touch $@
