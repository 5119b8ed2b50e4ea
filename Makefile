# Every target sets up what it needs in .venv, so a fresh machine needs Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= runs/door

.PHONY: run test check format bench clean

run: .venv/run.stamp  ## learn to open a door from demonstrations, and write a report about it
	$(BIN)/kodex run door --out $(OUT) --replace

test: .venv/dev.stamp  ## the tests
	$(BIN)/python -m pytest -n 2

check: .venv/dev.stamp  ## what CI runs: format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/bench.stamp  ## speed, as ratios measured in one run
	$(BIN)/python -m benchmarks

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[video]'
	touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@ .venv/run.stamp

.venv/bench.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	touch $@ .venv/dev.stamp .venv/run.stamp

clean:
	rm -rf .venv build *.egg-info
