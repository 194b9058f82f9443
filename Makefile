# Everything here works on a fresh machine with Python 3.11 or newer and bash: it makes its own .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DRIVER ?= claude-code
SITE   ?= site
# The cases of the properties in `make test-slow`; make prints the command, and so the seed.
SEED   ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
# Tests wait now and then, for a deadline or for a child: one more at a time than there are cores.
JOBS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))
# A test with a real CLI takes up to 1 GB and waits now and then: one more at a time than there are cores, where there
# is memory for it.
REAL_JOBS ?= $(shell awk -v cores="$$(nproc 2>/dev/null || echo 1)" '/MemAvailable/ { most = int($$2 / 1200000) } \
    END { print most < 1 ? 1 : most <= cores ? most : cores + 1 }' /proc/meminfo 2>/dev/null || echo 1)

# Compiled modules are kept, whatever the environment says: else every worker of pytest rewrites the assertions of all
# of them at each start (6 s), and every ralph-bridge that a test starts compiles what has changed.
export PYTHONDONTWRITEBYTECODE :=

PYTEST       := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
REAL_PYTEST   = $(BIN)/python -m pytest tests/real tests/setups -n $(REAL_JOBS) --dist worksteal
BESIDE_LINT  := .ci/side_by_side 'make --no-print-directory lint' --
RANDOM_CASES  = --hypothesis-profile=random --hypothesis-seed=$(SEED)

.PHONY: demo quick test test-slow nightly test-real nightly-real real-clis lint coverage bench limits figures lock plan picture docs dist contract clean

demo: $(VENV)/.run        ## watch a whole loop run through a real driver (DRIVER=codex for another)
	$(BIN)/ralph-bridge demo --driver $(DRIVER)

quick: $(VENV)/.dev       ## before a commit: linters, and some fast tests of every room (tests/quick.txt)
	$(BESIDE_LINT) $(PYTEST) -n $$(nproc 2>/dev/null || echo 1) -q -m "not slow and not real" $$(sed 's/^#.*//; s/^[a-z_.]*//' tests/quick.txt) $(PYTEST_ARGS)

test: $(VENV)/.dev        ## linters, and the tests (PYTEST_ARGS=-k... for some)
	$(BESIDE_LINT) $(PYTEST) -m "not slow and not real" $(PYTEST_ARGS)

test-slow: $(VENV)/.dev   ## the tests that take long: mutants, kills at random moments; properties at random (SEED=... for the same)
	$(PYTEST) -m "(slow or hypothesis) and not real and not nightly" $(RANDOM_CASES) $(PYTEST_ARGS)

nightly: $(VENV)/.dev     ## the tests that only seldom find what no other does (tests/nightly.txt; SEED=... for the same cases)
	$(PYTEST) -m "nightly and not real" $(RANDOM_CASES) $(PYTEST_ARGS)

real-clis:                ## install the pinned real CLIs into a cache outside of the tree (vendor/README.md)
	vendor/install

test-real: $(VENV)/.dev real-clis ## the scripts and the loop with the real CLIs, offline (PYTEST_ARGS=-k... for some)
	$(REAL_PYTEST) -m "real and not nightly" $(PYTEST_ARGS)

nightly-real: $(VENV)/.dev real-clis ## those of them that are nightly
	$(REAL_PYTEST) -m "real and nightly" $(PYTEST_ARGS)

lint: $(VENV)/.dev        ## ruff, mypy --strict, shellcheck
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/shellcheck --shell=bash drivers/*.sh benchmarks/stop_hook.sh agents/*.sh bridge/shell/prelude.bash bridge/adapters/scripts/integration.bash bridge/verify/probe/far.sh .ci/run .ci/side_by_side vendor/install vendor/newest run/loop.sh

coverage: $(VENV)/.dev    ## which lines and branches the fast tests reach (PYTEST_ARGS=tests/loop for some); shown, and no gate
	rm -rf .coverage && mkdir .coverage
	-$(BIN)/coverage run -m pytest -q -n $(JOBS) --dist worksteal -m "not slow and not real" $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report
	@echo "line by line: .coverage/html/index.html"

bench: $(VENV)/.dev       ## timings, side by side with what one would use instead
	$(BIN)/python -m compileall -q bridge
	$(BIN)/python benchmarks/run.py

limits: $(VENV)/.dev      ## the figures of the table of limits in bridge/shell/README.md
	$(BIN)/python benchmarks/limits.py

figures: $(VENV)/.dev     ## size of the house, what an iteration and a verify pass through, what a start costs
	$(BIN)/python -m compileall -q bridge
	$(BIN)/python -m benchmarks.house

lock: $(VENV)/.dev        ## write the lock files anew from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-find-links --no-emit-index-url --generate-hashes -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-find-links --no-emit-index-url --generate-hashes --extra dev --extra dask --extra docs --extra notify --extra report --extra telemetry -o requirements-dev.lock pyproject.toml

plan: $(VENV)/.dev        ## write the table of rooms into ARCHITECTURE.md, those of checks, options and settings into docs/
	$(BIN)/python -m tests.test_layering
	$(BIN)/python -m tests.verify.test_severity
	$(BIN)/python -m tests.setups.test_tables

picture: $(VENV)/.dev     ## the pictures in docs/: of a demo in a terminal, of the HTML report (by a headless Chromium)
	$(BIN)/python -m tests.picture
	$(BIN)/python -m tests.report.picture

docs: $(VENV)/.dev        ## the documentation as a site (SITE=... for another folder); a warning or a broken link is an error
	$(BIN)/sphinx-build --builder html --fresh-env --fail-on-warning --quiet docs $(SITE)
	@echo "$(SITE)/index.html"

dist: $(VENV)/.dev        ## the wheel and the sdist in dist/, checked, and tried in an empty environment on each Python here
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	RALPH_BRIDGE_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -q tests/ship/test_dist.py

contract: $(VENV)/.dev    ## write the contracts as JSON, from their YAML
	$(BIN)/python -m tests.contract.test_json

clean:                    ## remove the virtual environment and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ralph-bridge needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(BIN)/python -m compileall -q bridge # an editable install leaves that to the first start, if it may write
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
