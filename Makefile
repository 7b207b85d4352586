# `make` alone lists the targets. Everything runs in .venv, which scripts/install.sh makes and keeps.
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow prove corpus check bench bench-judge bench-verdicts clean
MAKEFLAGS += --no-print-directory
BIN := .venv/bin

help:
	@echo "make demo       a first tour on this machine's CPU: installs into .venv (no torch), 1 to 2 minutes"
	@echo "make test       installs the dev packages and runs every test this machine can run"
	@echo "make test-slow  the slow and real tests, at reduced counts"
	@echo "make prove      the same at the full counts; takes hours"
	@echo "make corpus     every cheat and control against the real cpu target, and a naive checker beside it"
	@echo "make check      lint, format, types, import contract, generated docs"
	@echo "make bench      speed and memory of the tool beside a named peer, in benchmarks/"
	@echo "make bench-judge  what each keep rule is worth, in simulation; writes benchmarks/judge.json"
	@echo "make bench-verdicts  60 real no-ops and 20 real gains, evaluated here (over an hour); writes benchmarks/verdicts/"
	@echo "make clean      removes caches and build outputs; .venv stays"

demo:
	@echo "make demo: installs mjolnir and its CPU packages into .venv (once, about 40 s), then runs 'mjolnir demo' (about a minute)"
	@sh scripts/install.sh cpu
	@$(BIN)/mjolnir demo

test:
	@echo "make test: installs the dev packages into .venv (once), then runs every test this machine can run (at most 12 minutes)"
	@sh scripts/install.sh dev
	@$(BIN)/python -m pytest -n 2

# One at a time: these tests measure, and a neighbour makes a measurement noisy.
test-slow:
	@echo "make test-slow: installs the dev packages into .venv (once), then runs the slow tests at reduced counts"
	@sh scripts/install.sh dev
	@$(BIN)/python -m pytest -m slow

prove:
	@echo "make prove: the slow tests at their full counts (hours)"
	@sh scripts/install.sh dev
	@MJOLNIR_PROVE=1 $(BIN)/python -m pytest -m slow

# CORPUS=DIR: another folder of kernels; RUNS=3: each file three times, with new seeds; JSON=FILE: every answer.
CORPUS ?=
RUNS ?= 1
JSON ?=
corpus:
	@echo "make corpus: installs the dev packages into .venv (once), then runs every file of tests/bad_kernels (about 10 minutes a run)"
	@sh scripts/install.sh dev
	@PYTHONPATH=tests $(BIN)/python -m corpus --runs $(RUNS) $(if $(JSON),--json '$(JSON)') $(CORPUS)

check:
	@echo "make check: lint, format, types, import contract, generated docs"
	@sh scripts/install.sh dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/make_cli_docs.py --check

bench:
	@echo "make bench: the tool beside a named peer in the same run; writes benchmarks/results-*.json"
	@sh scripts/install.sh dev
	$(BIN)/python benchmarks/run.py

bench-judge:
	@echo "make bench-judge: what each keep rule is worth, in simulation (about 6 minutes); writes benchmarks/judge.json"
	@sh scripts/install.sh dev
	$(BIN)/python benchmarks/judge_bench.py

bench-verdicts:
	@echo "make bench-verdicts: 60 real no-ops and 20 real gains, evaluated on this machine (over an hour, a quiet machine)"
	@sh scripts/install.sh dev
	$(BIN)/python benchmarks/verdicts.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
