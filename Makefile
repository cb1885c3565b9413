# The front door. `make help` lists what it opens.
SHELL := /bin/bash
BUILD := build
JOBS := $(shell nproc)
.DEFAULT_GOAL := all

.PHONY: all demo test unit cli bench bench-peers tidy asan test-aarch64 tsan valgrind fuzz format deps clean help

all: deps ## build everything into build/bin
	@[ -f $(BUILD)/build.ninja ] || cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

deps: ## install what is missing (Debian 12 packages)
	@scripts/install-deps

demo: all ## the main job: shard, measure, profile, plan and run the shipped model
	@examples/voice-intents/demo

test: all ## unit tests and command-line tests
	@scripts/run-tests $(BUILD)

bench: all ## measure: report, never fail on a number
	@scripts/bench

bench-peers: all ## measure beside ONNX Runtime and OpenVINO, cold and warm
	@scripts/bench-peers

tidy: all ## house rules, formatting, clang-tidy
	@scripts/tidy $(BUILD)

format: ## rewrite sources in the house format
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

asan: deps ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan >/dev/null && cmake --build build-asan -j $(JOBS)
	@scripts/run-tests build-asan

test-aarch64: all ## unit tests of an aarch64 build under qemu-user, and the same bytes from its tools
	@scripts/test-aarch64 $(BUILD)

tsan: deps ## unit tests under ThreadSanitizer
	@cmake --preset tsan >/dev/null && cmake --build build-tsan -j $(JOBS)
	@scripts/run-tests build-tsan --unit

valgrind: all ## unit tests of kernels and model under valgrind, which must be there
	@scripts/test-valgrind $(BUILD)

fuzz: ## every parser under random bytes, FUZZ_SECONDS=60 each; needs clang, installs it
	@scripts/install-deps --fuzz
	@scripts/fuzz $(FUZZ_TARGETS)

clean: ## remove build folders
	@rm -rf build build-aarch64 build-asan build-tsan build-fuzz

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'
