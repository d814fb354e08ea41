# Targets: build test demo site; lint unit race program survival e2e browser (the parts of test); soak vuln fuzz bench screenshots clean.

.NOTPARALLEL:
GO       ?= go
TAGS     := e2e,browser,bench
BASE     ?= main
FUZZTIME ?= 20s

build:       ; $(GO) build -trimpath -o bin/ ./cmd/...
test:        lint race survival e2e browser
lint:        fmt vet staticcheck
fmt:         ; @files=$$(gofmt -l cmd internal tests); test -z "$$files" || { echo "not gofmt-clean:"; echo "$$files"; exit 1; }
vet:         ; $(GO) vet -tags $(TAGS) ./...
staticcheck: ; $(GO) tool staticcheck -tags $(TAGS) ./...
unit:        ; $(GO) test ./cmd/... ./internal/...
race:        ; $(GO) test -race $$($(GO) list ./... | grep -v /tests/survival)
program:     ; $(GO) test ./tests/program
survival:    ; $(GO) test -race -count=1 -v ./tests/survival
soak:        ; $(GO) test -count=1 -timeout 60m -v -run 'TestKilledAtAnyMoment|TestSoak' ./tests/survival -args -long
e2e:         ; $(GO) test -tags e2e -count=1 -timeout 25m -v ./tests/e2e
browser:     ; $(GO) test -tags browser -count=1 -timeout 40m -v ./tests/browser
scale-browser: ; LIGHTHOUSE=strict SCALE=1000 $(GO) test -tags browser -count=1 -timeout 60m -run TestScale -v ./tests/browser
screenshots: ; SCREENSHOTS=$(CURDIR)/docs/screenshots $(MAKE) browser
vuln:        ; sh scripts/vuln.sh
fuzz:        ; FUZZTIME=$(FUZZTIME) sh scripts/fuzz.sh
bench:       ; $(GO) test -run '^$$' -bench . -benchmem ./internal/...
bench-instrument: ; $(GO) test -run '^$$' -bench . -benchtime 1x -count 2 ./internal/bench
bench-site:  ; $(GO) test -tags bench -count=1 -timeout 60m -run BenchSite -v ./tests/site
publish-check: build ; BASE=$(BASE) sh scripts/publish-check.sh
demo:        ; sh scripts/demo.sh
site:        build ; bin/sitegen build --results results --templates templates --out site
clean:       ; rm -rf bin .cache && find site -mindepth 1 ! -name README.md ! -name .gitignore -delete

.PHONY: build test lint fmt vet staticcheck unit race program survival soak e2e browser scale-browser screenshots vuln fuzz bench bench-instrument bench-site publish-check demo site clean
