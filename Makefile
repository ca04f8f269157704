# Everything runs in .venv, made on first use; needs python3 (3.11 or newer, with venv) and make, nothing else.

PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
LOGINS := .venv-logins
PEERS := .venv-peers
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Browser tests need Debian's chromium; where it is absent they say so, and the rest runs.
BROWSER := $(if $(wildcard /usr/bin/chromium),$(VENV)/.browser)

# mysqlclient is compiled: where MariaDB's headers are absent, the tests of MariaDB say so.
MYSQL := $(if $(wildcard /usr/bin/mariadb_config),$(VENV)/.mysql)

# One test process more than there are processors: tests of servers, browsers and workers leave these idle for a quarter of the time.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

# Each process has a server of its own; one that is named by environment is emptied by every test, and so is for one.
PARALLEL := $(if $(RATEWINDOW_REDIS_URL),,-n auto --dist loadfile --no-loadscope-reorder)

# Suites beside the tests that mirror the package: each says in its README.md what it shows and needs.
SUITES := badinputs browser databases faults migration seeds serving sites together

# Each of the many programs that tests start would compile all it imports, in half a second more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-fast serving without-rooms conformance redis-py faults soak orphans pictures docs messages lint fmt size bench beside weight logins peers dist clean
.DELETE_ON_ERROR:

help: ## show this list (the default)
	@$(PYTHON) -c 'import re,sys; [print(f"  make {n:12} {t}") for n,t in re.findall(r"^([\w-]+):.*?## (.*)$$", open("Makefile").read(), re.M)]'

demo: $(VENV)/.demo ## run the demo site with its own Redis, worker and scheduler (PORT=8000)
	@exec $(BIN)/python -m testproject.demo --port $(PORT)

test: $(VENV)/.test $(VENV)/.docs $(BROWSER) $(MYSQL) ## run the tests against a real server (ARGS="-k backtest" for some): before each merge
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

test-fast: $(VENV)/.test ## run the tests that mirror the package, without those that take long: on each save
	@$(BIN)/python -m pytest -q $(PARALLEL) $(SUITES:%=--ignore=tests/%) -m "not slow and not long and not conformance" $(ARGS)

serving: $(VENV)/.test ## run what depends on the web server on ten more kinds of them: before a release, or when doors or processes change
	@$(BIN)/python -m pytest $(PARALLEL) -m serving $(ARGS)

without-rooms: $(VENV)/.test ## delete each room from a copy, and see that the rest works (ARGS=--tests: with the fast tests, half an hour)
	@$(BIN)/python .ci/without_rooms.py $(ARGS)

conformance: $(VENV)/.test ## hold every algorithm on every store to the oracle, 100,000 steps each (half an hour)
	@CONFORMANCE_STEPS=$${CONFORMANCE_STEPS:-100000} $(BIN)/python -m pytest -n auto -o faulthandler_timeout=0 -m "conformance or fakeredis" $(ARGS)
	@server=$$(command -v redis-server) || { echo "No redis-server on PATH: Redis itself was not tried."; exit 0; }; \
	    CONFORMANCE_STEPS=$${CONFORMANCE_STEPS:-100000} RATEWINDOW_REDIS_SERVER=$$server \
	    $(BIN)/python -m pytest -n auto -o faulthandler_timeout=0 -m conformance -k server $(ARGS)

redis-py: $(VENV)/.test ## run the limiter's fast tests on several versions of redis-py, by its private and its public names
	@.ci/redis_py

faults: $(VENV)/.test ## run the tests of pace, and measure what each fault costs a request (ARGS=--write): on an idle machine
	@$(BIN)/python -m pytest -o faulthandler_timeout=0 -m pace
	@$(BIN)/python -m tests.faults $(ARGS)

soak: $(VENV)/.test ## traffic for SOAK_SECONDS=600 with a fault every 20 seconds (ARGS=--write)
	@$(BIN)/python -m tests.faults.soaking $(ARGS)

orphans: $(VENV)/.test ## clean a Cluster of a million keys under traffic, and measure what that costs (ARGS=--write)
	@$(BIN)/python -m tests.faults.orphaning $(ARGS)

pictures: $(VENV)/.demo $(BROWSER) ## take the pictures of the admin in docs/pictures from the demo, and draw those of the algorithms
	@$(BIN)/python -m testproject.pictures
	@$(BIN)/python -m benchmarks.pictures

docs: $(VENV)/.docs ## build the site of the documentation in docs/_build/html; a warning is an error
	@$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going -d docs/_build/doctrees docs docs/_build/html

messages: $(VENV)/.test ## bring the catalogs of translations in step with the sources, and compile them
	@$(BIN)/python -m testproject.messages

lint: $(VENV)/.lint ## check style, types, layers, migrations and Lua
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python .ci/lua_syntax.py
	$(BIN)/zizmor --offline --quiet .github

fmt: $(VENV)/.lint ## format the code and sort its imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

size: ## print the statements of the core and of each room, beside what they may be
	@$(PYTHON) .ci/size.py

bench: $(VENV)/.bench $(VENV)/.pictures ## measure the cost of a decision beside other libraries
	@$(BIN)/python -m benchmarks $(ARGS)

beside: $(VENV)/.bench ## time requests here beside another commit, in turns (COMMIT=HEAD~1, ARGS="--at-most 1.03")
	@$(BIN)/python -m benchmarks.beside $(or $(COMMIT),HEAD~1) $(ARGS)

weight: $(VENV)/.test ## print the modules, memory and import time of five set-ups (ARGS=--check fails above the budget of modules)
	@$(BIN)/python -m benchmarks.weight $(ARGS)

logins: $(LOGINS)/.made ## attack the logins of eleven packages behind four guards, and real servers (ARGS="--guesses 1000" for a quick look)
	@$(LOGINS)/bin/python -m benchmarks.logins $(ARGS)

peers: $(VENV)/.test ## run the forty cases of conformance/ against seven limiters, ours among them (ARGS="--limiter axes", --write)
	@$(BIN)/python -m conformance --environments $(PEERS) $(ARGS)

dist: $(VENV)/.dist ## build the package into dist/, twice, and check that both are alike and an index takes it
	.ci/dist dist $(BIN)/python
	$(BIN)/python -m twine check --strict dist/ratewindow-*

clean: ## remove the virtual environment and what the tools left
	rm -rf $(VENV) $(LOGINS) $(PEERS) docs/_build .redis-py build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# One environment; a stamp for each dependency group, redone when pyproject.toml changes.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ratewindow needs Python 3.11 or newer; this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --editable '.[celery,drf,hiredis,regex]'
	@touch $@

$(VENV)/.%: $(VENV)/.base
	$(PIP) install --quiet --group $*
	@touch $@

# Apart from the others: its packages hold back Django.
$(LOGINS)/.made: pyproject.toml
	$(PYTHON) -m venv $(LOGINS)
	$(LOGINS)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade 'pip>=25.1'
	$(LOGINS)/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[hiredis]' --group logins
	@touch $@
