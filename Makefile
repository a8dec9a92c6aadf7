# Each target calls a script in scripts/, or cargo.

.PHONY: help run build install deb uninstall python test test-all test-python lint fmt pages docs bench fuzz faults soak asan valgrind check-release dist release
.DEFAULT_GOAL := help
export PORT MINUTES PREFIX LIBDIR DESTDIR SYSCONFDIR REPOSITORY
# Settings of the user's shell that change where Cargo builds, what other programs print, or whether Python checks assertions.
unexport CDPATH CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR REDISCLI_AUTH VALKEYCLI_AUTH FORCE_COLOR CLICOLOR_FORCE PYTHONOPTIMIZE
export LC_ALL = C.UTF-8

help: ## list the targets
	@awk -F ':.*## ' '/^# [a-z ]+:$$/ { printf "%s%s\n", newline, substr($$0, 3); newline = "\n" } \
		/^[a-z0-9-]+:.*## / && $$1 != "help" { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Names in capitals are variables, with their defaults in parentheses: make run PORT=6380'
	@echo 'ROUGHLY_SERVER is the server program: ROUGHLY_SERVER=/path/to/redis-server make test'
	@echo 'On Debian, targets install missing packages as root and print their names.'
	@echo 'The first lines of each script in scripts/ describe it; scripts/check-release.sh CHECK runs a single check.'

# to use the module:

run: ## build the module and start a server with it on port PORT (default 6379), until Ctrl-C
	@scripts/run.sh

build: ## build the release module, target/release/libroughly.so
	@scripts/install.sh build
	cargo build --release --lib

install: ## install the built module, the programs and the documentation under PREFIX (default /usr)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
		scripts/dist.sh stage target/release/libroughly.so "$$dir/roughly" && sh "$$dir/roughly/install.sh"

deb: ## build the Debian package for this machine, in target/dist
	@scripts/dist.sh machine deb

uninstall: ## remove what install added
	@packaging/install.sh uninstall

python: ## build the Python package of python/ and install it into the virtual environment target/python
	@scripts/install.sh build python
	@cd python && . ../target/python/bin/activate && maturin develop --release --quiet

# to change it:

test: ## run the tests that guard a merge on the installed server; install a server if there is none
	@scripts/test.sh

test-all: ## run all tests with all cases on the installed server
	@scripts/test.sh all

test-python: ## test the Python package: its types, and its objects beside a server
	@scripts/test-python.sh

lint: ## check formatting, clippy, documentation, licenses and shell scripts
	@scripts/lint.sh

fmt: ## format the sources
	cargo fmt --all

pages: ## write the generated parts of docs/commands and docs/families
	@scripts/pages.sh

docs: ## build the documentation site, target/site/index.html
	@scripts/install.sh tools
	@NO_MKDOCS_2_WARNING=1 target/tools/bin/mkdocs --quiet build --strict

bench: ## measure the CPU time per command beside RedisBloom, which it fetches, or other modules; needs an idle machine
	@scripts/bench.sh server
	@scripts/bench.sh small-keys

fuzz: ## fuzz every decoder and every sketch, for MINUTES (default 11) in total
	@scripts/fuzz.sh

faults: ## refuse every request for memory of every command, and let files, forks and connections fail
	@scripts/install.sh build server
	@scripts/build-module.sh
	cargo test-all --quiet --test models refusals -- --nocapture
	cargo test --quiet --test server -- once::faults:: refused_calls:: --nocapture

soak: ## run mixed traffic of all families on a real server for MINUTES (default 5)
	@scripts/install.sh build server
	@scripts/build-module.sh
	ROUGHLY_SOAK_SECONDS=$$(($${MINUTES:-5} * 60)) cargo test --quiet --test server -- --nocapture soak::mixed_traffic

asan: ## run unit tests and the models under AddressSanitizer and LeakSanitizer
	@scripts/memory.sh asan

valgrind: ## run the server tests under valgrind, to find invalid accesses and leaks
	@scripts/memory.sh valgrind

# to release it:

check-release: ## run the checks that .ci/run leaves out: all servers, other platforms, packages, browsers; records the results; takes hours
	@scripts/check-release.sh

dist: ## build the release tarballs and Debian packages for all platforms, in target/dist
	@scripts/dist.sh

release: ## prepare a release of REPOSITORY (forge.example/roughly), after check-release: run .ci/run (not with CHECKS=no), build all packages, print what to upload
	@scripts/release.sh $(if $(filter no,$(CHECKS)),--no-checks)
