#!/usr/bin/env bash
# Runs the checks that .ci/run leaves out because they take hours. Stops at the first check that fails.
#
#   scripts/check-release.sh            all checks
#   scripts/check-release.sh CHECK...   only these:
#
#     release       scripts/release.sh in a clone
#     first-page    the commands of README.md, among them make test, on new systems of Debian 12 and 13
#     test          all tests on the installed server
#     servers       the server tests on all servers
#     io-threads    the server tests and the clients with I/O threads on the newest Redis and the newest Valkey
#     clients       the client libraries on all servers
#     worst-cases   every command on keys of 128 MiB
#     kills         kills a server with SIGKILL KILLS times (default 200) while clients write, and half as many times during saves
#                   without an append-only file; finds lost writes. SEED (default 8) selects the random choices
#     differential  COMMANDS random commands (default 200,000) of all types on a primary: its replica, and the primary after it loaded its
#                   files, must have equal keys. As many on RedisBloom and on Roughly, which must reply equally. SEED (default: the
#                   time) selects the commands
#     faults        every request for memory of every command is refused (make faults)
#     defrag        active defragmentation of keys of every type during writes
#     sizing        docs/sizing.html in a browser: its numbers are those of the sketches and of a server
#     site          the documentation site in a browser (scripts/site/check.py)
#     python        the Python package on all servers, with Dask and Spark, its wheels on new Debian systems, and its sources
#     arm64, musl   scripts/test-platform.sh
#     packages      scripts/test-packages.sh
#     reproducible  scripts/test-reproducible.sh; the working tree must have no uncommitted changes
#     image         scripts/test-image.sh
set -euo pipefail
cd "$(dirname "$0")/.."
exec < /dev/null
. scripts/steps.sh
# The module and the Python package as users get them.
export ROUGHLY_PROFILE=release

build() {
    scripts/install.sh build "$@" && scripts/build-module.sh
}
kills() {
    build server && ROUGHLY_KILLS=${KILLS:-200} ROUGHLY_SEED=${SEED:-8} \
        cargo test --quiet --test server crash_recovery:: -- --nocapture --test-threads 1
}
differential() {
    build server && scripts/fetch.sh redisbloom && ROUGHLY_COMMANDS=${COMMANDS:-200000} ROUGHLY_SEED=${SEED:-$(date +%s)} \
        cargo test --quiet --test server -- differential:: redisbloom::random_commands --nocapture
}
defrag() {
    local server=redis-defrag
    build && scripts/fetch.sh server $server && mkdir -p target/abilities && rm -f target/abilities/$server.txt \
        && ROUGHLY_ABILITIES=$PWD/target/abilities/$server.txt ROUGHLY_SERVER=$PWD/target/servers/$server/server \
            cargo test --quiet --test defrag -- --test-threads 1 \
        && ROUGHLY_ABILITIES=$PWD/target/abilities cargo test --quiet --test documents -- --include-ignored abilities::
}
sizing() {
    build server browser && cargo test --test sizing
}
site() {
    scripts/install.sh browser && make docs \
        && target/tools/bin/python scripts/site/check.py target/site
}
# The wheel for this machine's C library is installed without a network, as a user installs it, and the sources with one.
python() {
    local target wheels=target/wheels system suite sources
    scripts/test-matrix.sh python && scripts/install.sh chroot python-engines && rm -rf $wheels || return
    # The package that the tests before have built.
    (cd python && ../target/engines/bin/python -m pytest -q tests/test_documents.py -k engines) || return
    for target in $(. scripts/targets.sh && wheel_targets); do
        scripts/cross.sh "$target" wheel $wheels || return
    done
    for suite in bookworm trixie; do
        system=$wheels/$suite
        cp -a "$(scripts/fetch.sh chroot $suite python3-pip)" $system || return
        cp $wheels/*manylinux*"$(uname -m)".whl $system/tmp \
            && chroot $system sh -c 'python3 -m pip install --quiet --root-user-action ignore --no-index --break-system-packages \
                --force-reinstall /tmp/roughly-*.whl' \
            && chroot $system python3 -c 'import roughly
sketch = roughly.BloomFilter(100)
sketch.update(["alice", 7])
assert roughly.load(sketch.dump()).contains(["alice", 7, "bob"]) == [True, True, False]' || return
    done
    target/python/bin/maturin sdist --manifest-path python/Cargo.toml --out $wheels || return
    for sources in "$wheels"/roughly-*.tar.gz ./python; do
        rm -rf $wheels/environment
        python3 -m venv $wheels/environment \
            && $wheels/environment/bin/pip install --quiet --disable-pip-version-check "$sources" \
            && seq 1000 | $wheels/environment/bin/roughly build bloom --capacity 1000 -o $wheels/seen.dump \
            && $wheels/environment/bin/roughly inspect $wheels/seen.dump || return
    done
}
worst_cases() {
    build server && ROUGHLY_WORST_CASE_MIB=128 cargo test --quiet --test server -- once::worst_cases --test-threads 1
}

checks=("$@")
[ $# -gt 0 ] || checks=(release first-page test servers io-threads clients worst-cases kills faults differential defrag sizing site python arm64 musl packages reproducible image)
steps ${#checks[@]}
for check in "${checks[@]}"; do
    case $check in
        release) step "release script, about 1 minute" scripts/test-release.sh ;;
        first-page) step "commands of README.md on new Debian systems, about 25 minutes" scripts/test-first-page.sh bookworm trixie ;;
        test) step "all tests on the installed server, about 12 minutes" scripts/test.sh all ;;
        servers) step "server tests on all servers, about 20 minutes" scripts/test-matrix.sh ;;
        io-threads) step "server tests and clients with I/O threads, about 15 minutes" scripts/test-matrix.sh io-threads ;;
        clients) step "clients on all servers, about 3 minutes" scripts/test-matrix.sh clients ;;
        worst-cases) step "worst cases of keys of 128 MiB, about 20 minutes" worst_cases ;;
        kills) step "${KILLS:-200} kills, about 5 minutes" kills ;;
        differential) step "${COMMANDS:-200000} random commands on servers that must agree, about 8 minutes" differential ;;
        faults) step "refused memory in every command, about 5 minutes" make faults ;;
        defrag) step "active defragmentation, about 5 minutes" defrag ;;
        sizing) step "sizing page in a browser, about 3 minutes" sizing ;;
        site) step "documentation site in a browser, about 3 minutes" site ;;
        python) step "Python package on all servers, wheels, about 15 minutes" python ;;
        arm64) step "unit and server tests for arm64 in an emulator, about 25 minutes" scripts/test-platform.sh aarch64-unknown-linux-gnu ;;
        musl) step "unit and server tests for musl, about 15 minutes" scripts/test-platform.sh x86_64-unknown-linux-musl ;;
        packages) step "packages, about 18 minutes" scripts/test-packages.sh ;;
        reproducible) step "reproducible packages, about 35 minutes" scripts/test-reproducible.sh ;;
        image) step "container image, about 6 minutes" scripts/test-image.sh ;;
        *)
            echo "check-release: unknown check: $check" >&2
            exit 2
            ;;
    esac
done
