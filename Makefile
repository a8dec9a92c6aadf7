# Each target calls the script of the same name in scripts/, or cargo.

.PHONY: help run test test-matrix test-arm64 test-musl test-clients test-defrag test-kills test-math test-sizing worst-cases abilities plots cluster fuzz soak \
	valgrind asan tour bench lint docs test-docs command-pages check-release \
	build install uninstall dist deb release test-packages test-image test-release test-reproducible fmt
.DEFAULT_GOAL := help
export PORT KILLS SEED MINUTES PREFIX LIBDIR DESTDIR SYSCONFDIR

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Names in capitals are variables, with their defaults in parentheses: make run PORT=6380'
	@echo 'ROUGHLY_SERVER is the server program: ROUGHLY_SERVER=/path/to/redis-server make test'
	@echo 'On Debian, targets install missing packages as root and print their names.'

run: ## build the module and start a server with it on port PORT (default 6379), until Ctrl-C
	@scripts/run.sh

test: ## run all tests on the installed server; install a server if there is none
	@scripts/test.sh

test-matrix: ## run the server tests on every supported Redis and Valkey version that Debian packages
	@scripts/test-matrix.sh

test-arm64: ## test the module for arm64 on an emulated server: unit tests, mutation test and server tests
	@scripts/test-platform.sh aarch64-unknown-linux-gnu $(PART)

test-musl: ## test the module for musl on a server that is built with musl
	@scripts/test-platform.sh x86_64-unknown-linux-musl $(PART)

test-clients: ## call every command through Python, Node and Rust clients, and run the examples (also in Go)
	@scripts/test-clients.sh

test-kills: ## kill a server KILLS times (default 200) during writes, with seed SEED (default 8); report lost writes
	@scripts/test-kills.sh

test-math: ## compute 100 million logarithms and compare their checksum with the recorded one of glibc
	ROUGHLY_MATH_INPUTS=100000000 cargo test --quiet -p roughly-sketch --lib math::

test-sizing: ## test docs/sizing.html in a headless browser
	@scripts/test-sizing.sh

plots: ## measure the accuracy of each family; write the tables and plots of docs/families
	@scripts/install.sh build
	ROUGHLY_WRITE=1 cargo test --quiet --test accuracy

test-defrag: ## test active defragmentation on a server that is built for it
	@scripts/test-defrag.sh

docs: ## build the documentation site, target/site/index.html
	@scripts/docs.sh

test-docs: ## build the documentation site and check every page in a headless browser
	@scripts/test-docs.sh

command-pages: ## write the headers and tables of docs/commands from the command table
	@scripts/install.sh build server
	cargo build --release --lib
	ROUGHLY_WRITE=1 cargo test --quiet --test server -- documents::commands

worst-cases: ## measure the slowest call of each command; write the tables of docs/worst-cases.md
	@scripts/install.sh build server
	cargo build --release --lib
	ROUGHLY_WRITE=1 cargo test --quiet --test server -- once::worst_cases --test-threads 1

abilities: ## write docs/abilities.md from the records of test-matrix and test-defrag
	@scripts/abilities.sh

cluster: ## demonstrate the module on a cluster of six nodes
	@scripts/cluster.sh

fuzz: ## fuzz every decoder and every sketch, for MINUTES (default 11) in total
	@scripts/fuzz.sh

soak: ## run mixed traffic of all families on a real server for MINUTES (default 5)
	@scripts/soak.sh

valgrind: ## run the server tests under valgrind, to find invalid accesses and leaks
	@scripts/valgrind.sh

asan: ## run unit tests and the mutation test under AddressSanitizer and LeakSanitizer
	@scripts/asan.sh

tour: ## demonstrate the module with 100,000 English words
	@scripts/tour.sh

bench: ## measure the CPU time per command, also of the module files REDISBLOOM, VALKEY_BLOOM and BASELINE; needs an idle machine
	@scripts/bench.sh server

lint: ## check formatting, clippy, documentation, licenses and shell scripts
	@scripts/lint.sh

build: ## build the release module, target/release/libroughly.so
	@scripts/install.sh build
	cargo build --release --lib

install: ## install the built module and its configuration under PREFIX (default /usr)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
		scripts/stage.sh target/release/libroughly.so "$$dir/roughly" && sh "$$dir/roughly/install.sh"

uninstall: ## remove what install added
	@packaging/install.sh uninstall

dist: ## build the release tarballs for all platforms, target/dist/*.tar.gz
	@scripts/dist.sh

deb: ## build the Debian packages, target/dist/*.deb
	@scripts/deb.sh

check-release: ## run the checks that .ci/run leaves out: all servers, other platforms, packages, browsers; takes hours
	@scripts/check-release.sh

release: ## prepare a release: run all checks (not with CHECKS=no), build all packages, print what to upload
	@scripts/release.sh $(if $(filter no,$(CHECKS)),--no-checks)

test-packages: ## install, use and remove the packages, in chroots and in an emulator
	@scripts/test-packages.sh

test-image: ## build packaging/Dockerfile with Buildah and run the image, without an image registry
	@scripts/test-image.sh

test-release: ## check that release refuses what cannot be released, and what it prints, without building
	@scripts/test-release.sh

test-reproducible: ## build the packages twice and compare the bytes
	@scripts/test-reproducible.sh

fmt: ## format the sources
	cargo fmt --all
