# The names of what a developer does; .ci/run does all of it on a new machine.

.PHONY: check build test test-oracle test-ollama race fuzz proto cassette bench

check: ## format, vet, staticcheck, layer rules, tests, race detector, short fuzz runs
	.ci/run

build:
	go build ./cmd/penstock

test:
	go test ./...

test-oracle: ## the providers against the clients that the vendors publish; these take minutes to compile
	cd test/oracle && go mod tidy -diff && go vet ./... && go test -count=1 ./...

test-ollama: ## the Ollama provider and the OpenAI one against a real Ollama, which is built for it first: minutes
	test/outside/ollama/run

race:
	go test -race -short ./dag/... ./gate/... ./internal/... ./plugins/...

proto: ## after a change of plugins/proto/plugin.proto; needs protoc and its two Go plugins
	go generate ./plugins/proto

cassette: ## after a change of a prompt of the trivia cards
	go generate ./examples/trivia-cards

bench: ## ratios against peers in one run; see bench/README.md
	bench/run
