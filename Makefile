# Everything a newcomer needs. Set-up happens by itself, once: tools/setup.sh leaves the stamps named here.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help fly test soak flights record explore lint firmware format docs site wheel lower-bounds bench doctor clean FORCE

BIN := .venv/bin
SETUP_INPUTS := pyproject.toml requirements.lock tools/setup.sh

# A virtual environment knows its own path: one that was moved, copied or lost its interpreter is made anew.
INTACT := $(shell test -x $(BIN)/python && grep -qsF '$(CURDIR)/$(BIN)/python' $(BIN)/aeroloop && echo yes)
STALE := $(if $(INTACT),,FORCE)

help: ## list what can be made
	@echo 'make TARGET [ARGS="..."]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' Makefile | expand -t 16
	@echo 'PYTHON=... chooses the interpreter when .venv is made; AEROLOOP_NO_APT=1 leaves system packages alone.'

fly: .venv/.ready ## set up, then fly the spiral on the emulated board; ARGS go to `aeroloop fly`
	@$(BIN)/aeroloop fly tiltrotor-spiral --loop $$(sh tools/rung.sh) --pace lockstep $(ARGS)

# Flights in real time mostly wait, so three workers keep two cores busy. What people do in a browser, and what is timed,
# needs room, and comes afterwards.
test: lint ## set up, lint, run every test; ARGS go to pytest
ifeq ($(ARGS),)
	@sh tools/test.sh main -n 3 --dist loadfile --no-loadscope-reorder --durations=10 -m "not realtime and not soak" --ignore=tests/web
	@sh tools/test.sh web -n 2 --dist loadfile --durations=5 -m "not soak" tests/web
	@sh tools/test.sh timing -m realtime tests/timing
else
	$(BIN)/pytest -v $(ARGS)
endif

soak: .venv/.ready-dev ## the long tests: whole minutes in real time, quick runs of every benchmark, whole flights of MuJoCo's twin
	$(BIN)/pytest -v -m realtime tests/timing --soak $(ARGS)
	$(BIN)/pytest -v -n 2 -m soak $(ARGS)

flights: .venv/.ready-dev ## fly every shipped lockstep scenario on every rung to its end, and compare its hash with the recorded one
	$(BIN)/pytest -v tests/recorded --full $(ARGS)

record: .venv/.ready-dev ## record those hashes anew; a change of one belongs alone into its commit
	$(BIN)/python tests/recorded/recorded_flights.py record $(ARGS)

explore: .venv/.ready-dev ## look for new counterexamples with hypothesis: many random examples; ARGS go to pytest
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -n 2 -m "not realtime" -q tests --ignore=tests/web --ignore=tests/scenarios --ignore=tests/recorded --ignore=tests/timing $(ARGS)

lint: .venv/.ready-dev ## check format, style, types, who imports whom, and the firmware's warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory -C firmware

firmware: .venv/.ready ## build every firmware image, and print their sizes
	@$(MAKE) --no-print-directory -C firmware

format: .venv/.ready-dev ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.ready ## write the reference pages in docs/ from types and commands
	$(BIN)/python -m tools.describe docs

site: .venv/.ready-dev ## build the documentation into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)

wheel: .venv/.ready-dev ## build the wheel and the source distribution into dist/
	@rm -rf dist && mkdir -p dist build
	$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' >build/sdist.log
	$(BIN)/python -m pip wheel --disable-pip-version-check -q --no-build-isolation --no-deps -w dist dist/*.tar.gz
	@ls -l dist

lower-bounds: .venv/.ready-dev ## fly with the lowest versions that pyproject.toml allows, in build/lower-bounds; ARGS go to pytest
	$(BIN)/python -m tools.lower_bounds build/lower-bounds $(ARGS)

bench: .venv/.ready ## measure speed, as ratios against named peers; ARGS go to the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

doctor: .venv/.ready ## say what this machine can do, and how to get what is missing
	@$(BIN)/aeroloop doctor $(ARGS)

clean: ## remove the set-up and caches; flights in runs/ stay
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache src/*.egg-info
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

.venv/.ready: $(SETUP_INPUTS) $(STALE)
	@sh tools/setup.sh

.venv/.ready-dev: $(SETUP_INPUTS) $(STALE)
	@sh tools/setup.sh dev
