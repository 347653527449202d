# The words for working on Weir. `make` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

tool := go tool -modfile=test/tools/go.mod

# Packages whose tests need more than Go: they are groups of their own.
apart := acceptance|browser|chaos|sim
unit_packages = $$(go list ./... | grep -vE '^weir/test/($(apart))(/|$$)')

# What test runs, the cheapest first.
groups := check race acceptance sim browser chaos fuzz

# Tests that count allocations say nothing under the race detector; such files
# carry `//go:build !race` and their packages run once more without it.
without_race = $$(grep -rlE --include='*_test.go' '^//go:build .*!race' . | xargs -r -n 1 dirname | sort -u)

# Set to -short by test: fewer schedules and shorter faults.
SHORT ?=
FUZZTIME ?= 60s
FUZZ ?= ^Fuzz
BENCH ?= .
COUNT ?= 3

.PHONY: help
help: ## list these words
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install the Debian packages that building and testing need
	@test/tools/setup

.PHONY: build
build: ## build bin/weir
	go build -o bin/weir ./cmd/weir

.PHONY: test
test: setup ## everything below in short, in under 20 minutes
	@times=; \
	for group in $(groups); do \
		echo "=== $$group"; \
		start=$$SECONDS; \
		if ! $(MAKE) --no-print-directory $$group SHORT=-short FUZZTIME=5s; then \
			echo "=== $$group FAILED after $$((SECONDS - start)) s"; exit 1; \
		fi; \
		echo "=== $$group passed in $$((SECONDS - start)) s"; \
		times+=" $$group $$((SECONDS - start)) s,"; \
	done; \
	echo "=== all passed in $$SECONDS s:$${times%,}"

.PHONY: unit
unit: ## tests of single packages, without the race detector
	go test $(unit_packages)

.PHONY: race
race: ## the same with the race detector, then what cannot run under it
	go test -race -timeout 10m $(unit_packages)
	@if [[ -n "$(without_race)" ]]; then set -x; go test $(without_race); fi

.PHONY: acceptance
acceptance: ## whole nodes over gRPC with real Redis servers
	go test -count 1 -timeout 15m $(SHORT) ./test/acceptance/...

.PHONY: sim
sim: ## simulated regions, long; SCHEDULES=1000 for fewer, SEED=7 for one again, with its events in bin/
	@mkdir -p bin
	go test -count 1 -timeout 120m $(SHORT) -v $(if $(SEED),-run 'TestSchedules$$$$') ./test/sim -args $(simulated) \
		| grep -vE '^=== |^ *--- PASS'

# With SHORT, the tests run as many as they do by themselves.
simulated = $(if $(SEED),-seed $(SEED) -events $(CURDIR)/bin/events.txt,$(if $(SHORT),,-schedules $(or $(SCHEDULES),10000) -held $(or $(SCHEDULES),10000)))

.PHONY: chaos
chaos: ## nodes in network namespaces under faults, as root; FOR=10m, SEED=7 for its faults again
	@mkdir -p bin
	go test -count 1 -timeout 24h $(SHORT) $(if $(filter 0,$(shell id -u)),,-exec 'sudo -E') ./test/chaos/... -args $(if $(FOR),-for $(FOR)) $(if $(SEED),-seed $(SEED))

.PHONY: browser
browser: ## the dashboard in headless Chromium
	go test -count 1 -timeout 10m $(SHORT) ./test/browser/...

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME=60s each; FUZZ=regexp for some
	@test/tools/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: bench
bench: ## benchmarks beside their yardsticks; BENCH=regexp, COUNT=3, BASE=earlier/bench.txt
	@mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 120m ./... | tee bin/bench.txt
	$(tool) benchstat $(BASE) bin/bench.txt

.PHONY: lint
lint: ## golangci-lint, as .golangci.yml says
	$(tool) golangci-lint run

.PHONY: generate
generate: ## Go code from the .proto files
	test/tools/generate

.PHONY: check
check: ## format, vet, lint, go.mod, generated code, import rules, documents
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	test/tools/generate --check
	go test ./test/imports
	go vet ./...
	@$(MAKE) --no-print-directory lint
