# The front door. `make help` lists what it opens. Each command installs and builds what it needs.
SHELL := /bin/bash
BUILD := build
JOBS := $(shell nproc)
.DEFAULT_GOAL := all

.PHONY: all install packages tarball wheel demo elastic-demo test everything bench bench-peers smoke reproduce man tidy asan test-aarch64 tsan valgrind mutants fuzz format dist release-check clean help

# A build folder begins with tools alone. It gets tests and benchmarks once a command needs them,
# and keeps them.
configure = cmake --preset release $(1) >/dev/null
configure_once = [ -f $(BUILD)/build.ninja ] || $(call configure,-DSTI_TESTS=OFF -DSTI_BENCHMARKS=OFF)
build = cmake --build $(BUILD) -j $(JOBS) --target $(1)

all: ## the tools, into build/bin
	@scripts/install-deps
	@$(configure_once)
	@$(call build,tools)

PREFIX := /usr/local
install: ## tools, library, header: PREFIX=/usr/local, DESTDIR= for a folder to stage them in
	@scripts/install-deps
	@$(configure_once)
	@$(call build,tools sti_shared sti_static)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(abspath $(PREFIX))" --strip >/dev/null

demo: all ## the main job: shard, measure, profile, plan and run the shipped model
	@examples/voice-intents/demo

elastic-demo: all ## half an hour: a plain model made elastic, planned and run; PyTorch from PyPI
	@scripts/install-deps --elastic
	@examples/elastic-finetune/demo

test: ## unit tests and command-line tests; ROOM=kernels: the unit tests of one room
	@scripts/install-deps --test
	@$(call configure,-DSTI_TESTS=ON -DSTI_BENCHMARKS=ON)
	@$(call build,$(if $(ROOM),test_$(ROOM),tools tests))
	@scripts/run-tests $(BUILD) $(if $(ROOM),--only=$(ROOM))

everything: ## tools, tests and benchmarks, built and not run
	@scripts/install-deps --test --bench
	@$(call configure,-DSTI_TESTS=ON -DSTI_BENCHMARKS=ON)
	@$(call build,all)

bench: ## measure: report, never fail on a number
	@scripts/install-deps --bench
	@$(call configure,-DSTI_BENCHMARKS=ON)
	@$(call build,tools benchmarks)
	@scripts/bench

bench-peers: ## measure beside ONNX Runtime and OpenVINO, cold and warm
	@scripts/install-deps --bench
	@$(call configure,-DSTI_BENCHMARKS=ON)
	@$(call build,tools benchmarks)
	@bench/experiments/bench-peers

smoke: ## minutes: each script behind a table in a form of seconds; ONNX Runtime and OpenVINO from PyPI
	@scripts/install-deps --test --bench
	@$(call configure,-DSTI_TESTS=ON -DSTI_BENCHMARKS=ON)
	@$(call build,tools benchmarks test_plan)
	@scripts/smoke

reproduce: ## hours: the paper's tables on an emulated device, beside the recorded ones; goes on
	@scripts/install-deps --bench
	@$(call configure,-DSTI_BENCHMARKS=ON)
	@$(call build,tools benchmarks)
	@bench/experiments/reproduce

man: ## manual pages, into build/man: the tools and the file formats
	@scripts/install-deps --man
	@$(configure_once)
	@$(call build,sti_man)

tidy: all ## house rules, formatting, clang-tidy
	@scripts/install-deps --tidy
	@scripts/tidy $(BUILD)

format: ## rewrite sources in the house format
	@scripts/install-deps --tidy
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format -i

asan: ## unit tests and command-line tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-deps --test
	@cmake --preset asan >/dev/null && cmake --build build-asan -j $(JOBS) --target all tools
	@scripts/run-tests build-asan

tsan: ## unit tests under ThreadSanitizer
	@scripts/install-deps --test
	@cmake --preset tsan >/dev/null && cmake --build build-tsan -j $(JOBS)
	@scripts/run-tests build-tsan --unit

test-aarch64: all ## unit tests of an aarch64 build under qemu-user, and the same bytes from its tools
	@scripts/test-aarch64 $(BUILD)

valgrind: ## unit tests of kernels and model under valgrind, which must be there
	@scripts/install-deps --test
	@$(call configure,-DSTI_TESTS=ON)
	@$(call build,test_kernels test_model)
	@scripts/test-valgrind $(BUILD)

mutants: ## hours: which of 300 small changes of the code no test notices
	@scripts/install-deps --test
	@scripts/mutants

fuzz: ## every parser under random bytes, FUZZ_SECONDS=60 each; needs clang, installs it
	@scripts/install-deps --fuzz
	@scripts/fuzz $(FUZZ_TARGETS)

packages: ## Debian packages, into build/dist: MACHINE=arm64 or amd64; this machine's unless told
	@scripts/install-deps
	@packaging/package debs $(MACHINE)

tarball: ## static tools and their manual, into build/dist: MACHINE=arm64 or amd64
	@scripts/install-deps
	@packaging/package tarball $(MACHINE)

wheel: ## for Python: tools and module, into build/dist: MACHINE=arm64 or amd64; its makers from PyPI
	@scripts/install-deps
	@packaging/make-wheel $(MACHINE)

dist: ## the source archive of a release, from the last commit, into build/dist
	@packaging/dist

release-check: ## 90 minutes, as root: all that a release gives people, made twice and tried
	@scripts/install-deps --release
	@packaging/release-check

clean: ## remove build folders
	@rm -rf build build-aarch64 build-asan build-tsan build-fuzz build-release-*

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'
