# Every target sets up what it needs in .venv, so a fresh machine needs Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= runs/door

SITE ?= runs/page
DEMO_TASKS := door tool relocation reorientation

.PHONY: demo check-demo check-play run test check format results bench metaworld wheel-test cluster-test interop clean fuzz faults audit docs matrix coverage release

# The default folder is replaced if kodex wrote all of it; one that you name is not.
run: .venv/run.stamp  ## learn to open a door from demonstrations, and write a report about it
	$(BIN)/kodex run door --out "$(OUT)" $(if $(filter file,$(origin OUT)),--replace)

test: .venv/dev.stamp  ## the tests
	$(BIN)/python -m pytest -n 2

check: .venv/dev.stamp  ## what CI runs: format, lint, types, known weaknesses, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pip check --quiet
	$(BIN)/python -m tests.audit
	$(MAKE) test

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

demo: $(SITE)/index.html  ## all four skills on a page that simulates them in the browser
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) 8000

check-play: .venv/dev.stamp  ## kodex play in Chromium: its numbers are those of a rollout
	$(BIN)/python -m tests.play.check_browser

check-demo: $(SITE)/index.html .venv/dev.stamp  ## 20 episodes of each task of that page, in Chromium
	$(BIN)/python -m tests.export.check_page $(SITE)

$(SITE)/index.html: .venv/run.stamp
	for task in $(DEMO_TASKS); do \
	  [ -d runs/$$task/policy ] || $(BIN)/kodex run $$task --out runs/$$task --no-video || exit 1; \
	done
	$(BIN)/kodex export $(addprefix runs/,$(DEMO_TASKS)) --to web --output $(SITE) --replace

results: .venv/run.stamp  ## the pages and figures of docs/results, from their files alone
	for file in docs/results/*/outcomes.json; do \
	  $(BIN)/kodex report "$$(dirname $$file)" --open no || exit 1; \
	done
	$(BIN)/python -m benchmarks.paper

bench: .venv/bench.stamp  ## speed, as ratios measured in one run
	$(BIN)/python -m benchmarks

# Meta-World pins a MuJoCo of its own, beside which kodex's core learns. Resumes; an hour or two.
metaworld: .venv-metaworld/done.stamp  ## success on Meta-World's MT10, into docs/results/metaworld
	.venv-metaworld/bin/python -m benchmarks.metaworld $(METAWORLD)

.venv-metaworld/done.stamp: pyproject.toml
	$(PYTHON) -m venv .venv-metaworld
	.venv-metaworld/bin/pip install --quiet metaworld==3.1.1 scikit-learn packaging threadpoolctl --editable .
	touch $@
# Every format with changed bytes, values and arrays; what it finds goes into tests/fuzz/corpus.
MUTATIONS ?= 100000
fuzz: .venv/dev.stamp  ## files of strangers by the thousand: refused in one sentence, or read right
	$(BIN)/python -m tests.fuzz --mutations $(MUTATIONS)

EVERY ?= 1
faults: .venv/dev.stamp  ## kill, interrupt and fill the disk before every change that a verb makes
	$(BIN)/python -m tests.faults --every $(EVERY)

# `make check` asks too, and only notes what nobody answers; here that is a failure.
audit: .venv/dev.stamp  ## whether a pinned dependency is known to be unsafe
	$(BIN)/python -m tests.audit --all

# The core from its wheel: in an empty environment, and beside the MuJoCo that Meta-World pins.
wheel-test:
	rm -rf build .venv-wheel dist-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip wheel --quiet --no-deps --wheel-dir dist-wheel .
	.venv-wheel/bin/pip install --quiet dist-wheel/*.whl
	cd dist-wheel && ../.venv-wheel/bin/python ../tests/wheel/fit_and_act.py
	.venv-wheel/bin/pip install --quiet mujoco==3.3.0
	cd dist-wheel && ../.venv-wheel/bin/python ../tests/wheel/fit_and_act.py

# The core from its wheel on every Python that is supported, and with the oldest versions that
# pyproject.toml allows. A Python that is not on the machine is named and left out.
PYTHONS ?= python3.11 python3.12 python3.13
LOWEST := numpy==2.0.0 scipy==1.13.0 h5py==3.11.0 safetensors==0.4.5 rich==13.7.0 tyro==0.9.2
matrix:  ## the wheel on Python 3.11 to 3.13, and with the lowest supported versions
	for python in $(PYTHONS); do \
	  if $$python -c pass 2> /dev/null; then $(MAKE) wheel-test PYTHON=$$python || exit 1; \
	  else echo "$$python is not on this machine, so it is not tested"; fi; \
	done
	rm -rf .venv-lowest
	$(firstword $(PYTHONS)) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet $(LOWEST) dist-wheel/*.whl
	cd dist-wheel && ../.venv-lowest/bin/python ../tests/wheel/fit_and_act.py

# Tracing makes the tests about three times as long.
coverage: .venv/dev.stamp  ## which lines no test runs
	$(BIN)/pip install --quiet --constraint constraints.txt pytest-cov
	$(BIN)/python -m pytest -n 2 --cov kodex --cov-report term-missing:skip-covered

release:  ## wheel and sdist in dist/, and the wheel tested in an empty environment
	rm -rf build dist .venv-build .venv-release
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/pip install --quiet --constraint constraints.txt build
	.venv-build/bin/python -m build
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/pip install --quiet dist/*.whl
	cd dist && ../.venv-release/bin/python ../tests/wheel/fit_and_act.py

# Links, anchors and names that cannot be found are errors. kodex itself is read, not imported.
docs: .venv-docs/done.stamp  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "Open site/index.html"

.venv-docs/done.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --constraint constraints.txt 'mkdocs-material>=9.6' 'mkdocstrings[python]>=0.29'
	touch $@

cluster-test: .venv/dev.stamp  ## whole commands on a scheduler and two workers, one of which is killed
	$(BIN)/python -m tests.cluster.whole_commands

# What kodex writes, opened by the libraries that own the formats, and the other way round. None of
# them installs beside kodex, and LeRobot needs Python 3.12 and 6 GB.
PYTHON312 ?= python3.12
interop: .venv/dev.stamp .venv-interop-minari/done.stamp .venv-interop-lerobot/done.stamp
	$(BIN)/python tests/interop/owners.py
	$(BIN)/python -m pytest tests/interop/test_lerobot_policy.py

.venv-interop-minari/done.stamp:
	$(PYTHON) -m venv .venv-interop-minari
	.venv-interop-minari/bin/pip install --quiet 'minari[hdf5]==0.5.4' pillow
	touch $@

.venv-interop-lerobot/done.stamp:
	$(PYTHON312) -m venv .venv-interop-lerobot
	.venv-interop-lerobot/bin/pip install --quiet 'lerobot[dataset]==0.6.1' h5py matplotlib termcolor
	.venv-interop-lerobot/bin/pip install --quiet --editable . --editable packages/lerobot_policy_kodex
	# robomimic asks for more than reading a file needs, and forgets six.
	.venv-interop-lerobot/bin/pip install --quiet --no-deps robomimic==0.3.0 tensorboardX six imageio psutil protobuf egl_probe
	touch $@

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[adroit,reports,video]'
	touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@ .venv/run.stamp

.venv/bench.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	touch $@ .venv/dev.stamp .venv/run.stamp

clean:
	rm -rf .venv .venv-* dist-wheel build site *.egg-info
