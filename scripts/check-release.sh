#!/usr/bin/env bash
# Runs the checks of a release that CONTRIBUTING.md lists, two at a time. Continues after a failed check. Prints at the end the result and the
# minutes of each. Some checks need root.
#
#   scripts/check-release.sh            all checks; writes their record to .ci/release and their minutes to CONTRIBUTING.md, also if it is
#                                       interrupted: then the checks that have not ended are those that failed after 0 minutes
#   scripts/check-release.sh CHECK...   only these checks
#   scripts/check-release.sh queue      used by this script: runs the checks that another process has not begun
#
# Environment:
#   ROUGHLY_WRITE  with 1 and CHECK: replaces the results of these checks in the record and adds the minutes of this run to it, if the
#                  sources and dependencies are those of the recorded commit
#
# Exit status: 1 if a check failed or is unknown, or the record cannot be written.
set -euo pipefail
cd "$(dirname "$0")/.."
exec < /dev/null
. scripts/steps.sh
. scripts/testing.sh
# The tests must compare the pages, not write them.
writes=${ROUGHLY_WRITE:-}
unset ROUGHLY_WRITE
# The module and the Python package as users get them.
export ROUGHLY_PROFILE=release
build_once

build() {
    scripts/install.sh build "$@" && scripts/build-module.sh
}
clients() {
    scripts/test-matrix.sh clients && scripts/lint.sh clients
}
kills() {
    build server && ROUGHLY_KILLS=200 cargo test --quiet --test server crash_recovery:: -- --nocapture --test-threads 1
}
differential() {
    build server && scripts/fetch.sh redisbloom && ROUGHLY_COMMANDS=200000 ROUGHLY_SEED=$(date +%s) \
        cargo test --quiet --test server -- differential:: redisbloom::random_commands --nocapture
}
# recorded SERVER COMMAND...: runs tests that record what each type supports, and checks that nothing is missing.
recorded() {
    local records=$PWD/target/abilities-$1
    rm -rf "$records" && mkdir -p "$records" && ROUGHLY_ABILITIES=$records/$1.txt "${@:2}" \
        && ROUGHLY_ABILITIES=$records cargo test --quiet --test documents -- --include-ignored abilities::
}
defrag() {
    local server=redis-defrag
    build && scripts/fetch.sh server $server \
        && ROUGHLY_SERVER=$PWD/target/servers/$server/server recorded $server cargo test --quiet --test defrag -- --test-threads 1
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
    local wheels=target/wheels system suite sources java
    scripts/test-matrix.sh python && scripts/install.sh debootstrap python-engines && rm -rf $wheels || return
    # If Debian's package musl is installed, snappy-java of Spark selects its library for musl, which Java cannot load.
    target/engines/bin/python -m zipfile -e "$(find target/engines -name 'snappy-java-*.jar')" target/snappy || return
    java="\"-Dorg.xerial.snappy.lib.path=$PWD/target/snappy/org/xerial/snappy/native/Linux/$(uname -m)\" -Dorg.xerial.snappy.lib.name=libsnappyjava.so"
    # The package that the tests before have built.
    (cd python && JAVA_TOOL_OPTIONS=$java ../target/engines/bin/python -m pytest -q tests/test_documents.py -k engines) || return
    # The check packages builds those of the other targets.
    scripts/cross.sh "$(. scripts/targets.sh && machine_target)" wheel $wheels || return
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
    for sources in ./python "$wheels"/roughly-*.tar.gz; do
        rm -rf $wheels/environment
        # In one directory, to compile the dependencies once.
        python3 -m venv $wheels/environment \
            && CARGO_TARGET_DIR=$PWD/target $wheels/environment/bin/pip install --quiet --disable-pip-version-check "$sources" \
            && seq 1000 | $wheels/environment/bin/roughly build bloom --capacity 1000 -o $wheels/seen.dump \
            && $wheels/environment/bin/roughly inspect $wheels/seen.dump || return
    done
}
worst_cases() {
    build server && ROUGHLY_WORST_CASE_MIB=32 cargo test --quiet --test server -- once::worst_cases --test-threads 1
}

# Those of a line run one after the other, because they share what they compile or need the results of each other. The first line needs
# nothing that is installed beside it; of the others, the longest are first.
all="first-page image
test servers io-threads clients
release reproducible packages arm64 musl
worst-cases
python
kills faults differential defrag sizing site"
results=target/check-release.txt
mkdir -p target
if [ "${1:-}" != queue ]; then
    : > "$results"
    tr ' ' '\n' <<< "$*" > target/checks.txt
fi
if [ $# -eq 0 ]; then
    echo "$all" > target/checks.txt
    writes=1
    [ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes; commit or remove them"
    printf 'commit %s\ndate %s\nmachine %s, %s cores, %s of memory\n' "$(git rev-parse HEAD)" "$(date -u +%F)" \
        "$(lscpu | sed -n 's/^Model name: *//p')" "$(nproc)" "$(awk '/^MemTotal:/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" > "$results"
    scripts/install.sh build debootstrap sbom
elif [ "$writes" = 1 ]; then
    commit=$(sed -n 's/^commit //p' .ci/release)
    git diff --quiet "$commit" -- "${released[@]}" || fail "sources or dependencies have changed since the recorded commit $commit; run all checks"
fi

# run COMMAND...: runs a check and adds its result.
run() {
    local result=passed
    step "$check" "$@" || result=failed
    echo "$check $result $(((step_seconds + 59) / 60))" >> "$results"
}

# next: sets `checks` to the next line of the queue, which both processes read at the descriptor 7.
next() {
    exec 9> target/checks.lock
    flock 9
    local status=0
    read -r -a checks <&7 || status=$?
    exec 9>&-
    return $status
}

# start CHECK: runs a check.
start() {
    check=$1
    case $check in
        release | packages | reproducible | image) run "scripts/test-$check.sh" ;;
        first-page) run scripts/test-first-page.sh bookworm trixie ;;
        # The checks worst-cases and faults run the others.
        test) run recorded installed scripts/test.sh all once::worst_cases:: once::faults:: ;;
        servers) run scripts/test-matrix.sh ;;
        io-threads) run scripts/test-matrix.sh io-threads ;;
        worst-cases) run worst_cases ;;
        faults) run make faults ;;
        arm64) run scripts/test-platform.sh aarch64-unknown-linux-gnu ;;
        musl) run scripts/test-platform.sh x86_64-unknown-linux-musl ;;
        clients | kills | differential | defrag | sizing | site | python) run "$check" ;;
        *) fail "unknown check: $check" ;;
    esac
}

# finish NUMBER: prints the results in the order of the queue, and records them. NUMBER is 0 for a run of all checks.
finish() {
    local ended minutes check result
    end_jobs
    cat target/check-release.log
    # No check has ended.
    grep -qE ' (passed|failed) [0-9]+$' "$results" || exit 1
    mapfile -t ended < "$results"
    printf '%s\n' "${ended[@]}" | grep -vE ' (passed|failed) [0-9]+$' > "$results" || true
    for check in $(< target/checks.txt); do
        printf '%s\n' "${ended[@]}" | grep -E "^$check (passed|failed) " >> "$results" || echo "$check failed 0" >> "$results"
    done
    minutes=$(((SECONDS + 59) / 60))
    if [ "$writes" = 1 ]; then
        [ "$1" -gt 0 ] || { cat "$results"; echo "minutes 0"; } > .ci/release
        sed -i "s/^minutes .*/minutes $((minutes + $(sed -n 's/^minutes //p' .ci/release)))/" .ci/release
        while read -r check result; do
            sed -i "s#^$check .*#$check $result#" .ci/release
        done < <(grep -E ' (passed|failed) ' "$results")
        ROUGHLY_WRITE=1 scripts/minutes.sh
    fi
    sed -nE 's/ (passed|failed) [0-9]+$/& min/p' "$results"
    ! grep -q ' failed ' "$results" || exit 1
}

if [ "${1:-}" != queue ]; then
    exec 7< target/checks.txt
    set -m
    scripts/check-release.sh queue > target/check-release.log 2>&1 &
    set +m
    trap 'finish "$#"' EXIT
    # Beside the first check of a whole run.
    [ $# -gt 0 ] || {
        scripts/install.sh server source musl lint browser python-tests python-engines clients zig advzip lintian buildah docker-compose
        scripts/fetch.sh server
    }
fi
steps "$(wc -w < target/checks.txt)"
while next; do
    for check in "${checks[@]}"; do
        start "$check"
    done
done
[ "${1:-}" != queue ] || exit 0
wait || true
