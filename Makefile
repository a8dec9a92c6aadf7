# Each target is a script of the same name in scripts/, or one line of cargo.

.PHONY: help run test test-matrix test-clients test-defrag test-kills test-math test-sizing abilities plots cluster fuzz soak \
	valgrind asan tour bench bench-report lint \
	build install uninstall dist deb test-packages test-reproducible fmt
.DEFAULT_GOAL := help
export PORT KILLS SEED MINUTES PREFIX DESTDIR SYSCONFDIR

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Words in capitals are set behind the target: make run PORT=6380. ROUGHLY_SERVER=/path/to/redis-server'
	@echo 'before make chooses the server. What is missing on Debian is installed, and said.'

run: ## build the module and start a server with it, on PORT (6379), until Ctrl-C
	@scripts/run.sh

test: ## all tests, on the server of the PATH, which is installed if there is none
	@scripts/test.sh

test-matrix: ## the server tests on every Redis and Valkey that Debian has, which are fetched once
	@scripts/test-matrix.sh

test-clients: ## every command through real clients of Python, Node and Rust, and the examples
	@scripts/test-clients.sh

test-kills: ## kill -9 the server 200 times (KILLS) and look for what is lost
	@scripts/test-kills.sh

test-math: ## compare 100 million logarithms with the recorded ones of glibc
	ROUGHLY_MATH_INPUTS=100000000 cargo test --quiet -p roughly-sketch --lib math::

test-sizing: ## docs/sizing.html in a browser without a screen, against the module's own figures
	@scripts/test-sizing.sh

plots: ## measure how accurate each family is, and write the tables and plots of docs/families
	@scripts/install.sh build
	ROUGHLY_WRITE=1 cargo test --quiet --test accuracy

test-defrag: ## active defragmentation, on a server that is built for it
	@scripts/test-defrag.sh

command-pages: ## write the headers and tables of docs/commands from the command table
	@scripts/install.sh build server
	cargo build --release --lib
	ROUGHLY_WRITE=1 cargo test --quiet --test server -- documents::commands

abilities: ## write docs/abilities.md of what test-matrix and test-defrag proved
	@scripts/abilities.sh

cluster: ## see the module at work on a cluster of six nodes
	@scripts/cluster.sh

fuzz: ## fuzz every decoder and every sketch, MINUTES (11) in all
	@scripts/fuzz.sh

soak: ## mixed traffic of all families on a real server, for MINUTES (5)
	@scripts/soak.sh

valgrind: ## the server tests with the server under valgrind: bad accesses and leaks
	@scripts/valgrind.sh

asan: ## the sketches' tests and the damaged forms under AddressSanitizer and LeakSanitizer
	@scripts/asan.sh

tour: ## see the module at work on a real list of words
	@scripts/tour.sh

bench: ## measure everything: long, and best on a quiet machine
	@scripts/bench.sh

bench-report: ## write docs/performance.md's tables and pictures from what was measured
	@scripts/install.sh build
	cargo bench --bench report

lint: ## check formatting, clippy, documentation, licenses and scripts
	@scripts/lint.sh

build: ## the release module, target/release/libroughly.so
	@scripts/install.sh build
	cargo build --release --lib

install: ## put the built module and its configuration under PREFIX (/usr), for Redis and Valkey
	@scripts/stage.sh target/release/libroughly.so target/install
	@target/install/install.sh

uninstall: ## remove what install put there
	@packaging/install.sh uninstall

dist: ## a release for other machines, target/dist/*.tar.gz
	@scripts/dist.sh

deb: ## the same as a Debian package, target/dist/*.deb
	@scripts/deb.sh

test-packages: ## install the packages on Debian systems of their own, use and remove them
	@scripts/test-packages.sh

test-reproducible: ## build the packages' module twice and compare the bytes
	@scripts/test-reproducible.sh

fmt: ## format the sources
	cargo fmt --all
