# Everything sets itself up: `make demo` and `make test` need nothing but Python 3.11 or newer and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# From the registry's default index torch would pull a GPU build of several gigabytes.
TORCH  := torch==2.13.0
# Compiled files are kept, whatever the environment says: hundreds of processes in the tests would compile all of it again.
export PYTHONDONTWRITEBYTECODE :=
SOAK   ?= 1
EXTRAS := deep,studio,spark,postgres,meters,lake,mqtt,kafka,notebook,docs,dev

.PHONY: demo setup lock system check test soak bench scale docs wheel clean

demo: $(VENV)/.demo
	$(BIN)/shoal demo

setup: $(VENV)/.all

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

# With the versions that were tested together; where one of them is not to be had, with what there is.
$(VENV)/.all: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[$(EXTRAS)]' || \
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	touch $@ $(VENV)/.demo

# Write the versions of this environment to requirements.lock, after an update that passed the tests.
lock: setup
	$(BIN)/python tests/write_lock.py

# Debian packages the tests use. Without root or apt the tests that need them say so and skip.
system:
	@sh tests/install_system_packages.sh

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry src
	$(BIN)/codespell src tests docs benchmarks README.md CONTRIBUTING.md CHANGELOG.md

# The checks run alongside the tests; their output comes last. Tests of browsers, brokers and kills wait more than they
# compute, so there is one process more than there are cores. Libraries start no threads of their own; numba does, because
# tests compare threads.
test: export POLARS_MAX_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: setup system
	@$(MAKE) --no-print-directory check >$(VENV)/check.log 2>&1 & checks=$$!; \
	$(BIN)/pytest --numprocesses $$(($$(env -u OMP_NUM_THREADS nproc) + 1)) --dist loadscope --no-loadscope-reorder; tests=$$?; \
	wait $$checks; checks=$$?; cat $(VENV)/check.log; exit $$((tests | checks))

# Long proofs: kills, fuzzed files and requests, enumerations, experiments at small size. A table in the end, which
# docs/results/soak.md keeps. SOAK=0.1 makes a tenth of each, GROUPS="readers kills" these alone.
soak: setup system
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[audit]'
	SOAK=$(SOAK) $(BIN)/python tests/soak.py $(GROUPS)

bench: setup
	$(BIN)/python benchmarks/run.py

# Minutes, 25 GB of disk, and root for the limit of memory.
scale: setup system
	$(BIN)/python benchmarks/scale.py

# The wheel, reproducible byte for byte, and an SBOM of a fresh environment with it.
wheel: $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check build cyclonedx-bom
	rm -rf dist
	$(BIN)/python -m build --wheel
	$(PYTHON) -m venv dist/.fresh
	dist/.fresh/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --output-file "$$(ls dist/*.whl | sed 's/-py3.*/.cdx.json/')" dist/.fresh/bin/python
	rm -rf dist/.fresh

docs: setup system
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) shoal-demo shoal-demo-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
