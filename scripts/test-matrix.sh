#!/usr/bin/env bash
# Runs tests on each server of the test matrix. Fetches missing servers into target/servers.
#
#   scripts/test-matrix.sh             after make test-all, on all servers but the installed one: the server tests whose result may depend on
#                                      the server (tests/server/main.rs), of large tests a part of the cases. Records what each type
#                                      supports, checks that nothing is missing, and writes the tested versions in docs/versioning.md
#   scripts/test-matrix.sh quick       for .ci/run, after scripts/test.sh: the tests of what has differed between servers (the list is below),
#                                      without the installed server and the records: on the oldest and the newest servers, and a ninth of
#                                      the groups on each of three other servers. Then random commands and a mixed workload on one of the
#                                      newest servers with I/O threads. The sample selects the groups and the server
#   scripts/test-matrix.sh io-threads  the tests of what has differed between servers, random commands, a mixed workload and the clients on
#                                      the newest Redis and the newest Valkey with an I/O thread: of large tests, a part of the cases
#   scripts/test-matrix.sh clients     scripts/test-clients.sh
#   scripts/test-matrix.sh python      make test-python on Redis 7.0; on the newest servers, only the files of tests that use a server
#
# Environment:
#   RUST_TEST_THREADS  as in scripts/test.sh; with quick, four times the number of processors by default
#   ROUGHLY_MODULE, ROUGHLY_REDISBLOOM, ROUGHLY_VALKEY_BLOOM
#                      as in scripts/test.sh
#   ROUGHLY_SAMPLE_SEED
#                      with quick: the number that selects the sample of large tests (tests/support/sample.rs). The
#                      installed server has part 0 of the sample, and each other server another part
#
# Exit status: 1 if a server failed or is not available, or a record is incomplete; 2 if the argument is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
mode=${1:-full}
case $mode in
    full | quick | io-threads | clients | python) ;;
    *)
        echo "test-matrix: unknown argument: $mode" >&2
        exit 2
        ;;
esac
# The tests of quick mostly wait for servers.
tests_per_processor=2
[ "$mode" != quick ] || tests_per_processor=4
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((tests_per_processor * $(processors)))}

scripts/install.sh build examples
scripts/fetch.sh server
case $mode in
    full | quick | io-threads)
        [ "$(uname -m)" != x86_64 ] || scripts/fetch.sh redisbloom 2.6.12 2.8.2 > /dev/null
        scripts/build-module.sh
        cargo test --no-run --test server
        mapfile -t tests < <(cargo test --quiet --test server -- --list | sed -n 's/: test$//p')
        ;;
esac

# Name and version of a server, such as "Redis server v=7.0.15": the rest of the line depends on the build.
release() {
    "$1" --version | cut -d ' ' -f 1-3
}

mkdir -p target/abilities
[ "$mode" != full ] || rm -f target/tested.txt
passed=() failed=()
independent=(once:: each_platform::)
# What has differed between servers: the command table, loading, settings, events, files, replication, obeyed commands, clusters, and all that
# only some servers have.
differing=(golden_transcripts:: integration:: persistence:: replication:: obeyed:: windows::replicas windows::permissions
    each_server::commands each_server::loading each_server::settings each_server::notifications each_server::new_features
    each_server::cluster valkey::dialects ::needs_)
# Of these, what quick leaves out because it takes long.
slow=(large_keys_survive payloads_above_64_mib slot_migration_during failover_after_a_kill)
newest=(redis-newest valkey-newest)
oldest_and_newest=(redis-7.0 "${newest[@]}")
# The server tests whose names contain one of the arguments.
containing() {
    printf '%s\n' "${tests[@]}" | grep -F "${@/#/-e}"
}
# others [PART...]: the server tests whose names contain no part of what has differed, and none of the arguments.
others() {
    printf '%s\n' "${tests[@]}" | grep -vF "${differing[@]/#/-e}" "${@/#/-e}"
}

# run NAME TITLE COMMAND...: runs tests on a server, and records whether they passed and how long they took.
run() {
    local name=$1 title=$2 start=$SECONDS
    shift 2
    echo
    echo "test-matrix: $title on $name, $("$ROUGHLY_SERVER" --version)"
    if "$@"; then
        passed+=("$name, $title: $(duration $((SECONDS - start)))")
    else
        failed+=("$name, $title: $(duration $((SECONDS - start)))")
    fi
}

# with_io_threads COMMAND...: runs tests on servers with I/O threads. Valkey uses them only under load;
# tests/server/each_server/new_features.rs has a test in which they are always active.
with_io_threads() {
    ROUGHLY_SERVER_ARGUMENTS="--io-threads 2" "$@"
}

parts=$(scripts/fetch.sh list | wc -l)
number=0 between=0
installed=""
case $mode in
    full | quick)
        scripts/install.sh server
        installed=$(release "$(scripts/find-server.sh)")
        ;;
esac
case $mode in
    io-threads) names=${newest[*]} ;;
    # The package uses what is equal on all servers: commands, replies and dumps.
    python) names=${oldest_and_newest[*]} ;;
    *) names=$(scripts/fetch.sh list) ;;
esac
for name in $names; do
    export ROUGHLY_SERVER=$PWD/target/servers/$name/server
    [ "$mode" != full ] || "$ROUGHLY_SERVER" --version | sed -E 's/^(Redis|Valkey) server v=([0-9.]+).*/\1 \2/' >> target/tested.txt
    if [ "$(release "$ROUGHLY_SERVER")" = "$installed" ]; then
        echo "test-matrix: $name is the installed server, which make test-all tests"
        continue
    fi
    mapfile -t skip < <(containing "${independent[@]}")
    case $mode in
        full)
            export ROUGHLY_ABILITIES=$PWD/target/abilities/$name.txt
            rm -f "$ROUGHLY_ABILITIES"
            third=()
            case $name in
                "${oldest_and_newest[0]}") unset ROUGHLY_SAMPLE ;;
                *-newest)
                    export ROUGHLY_SAMPLE="0 $number 2"
                    number=$((number + 1))
                    ;;
                *)
                    export ROUGHLY_SAMPLE="0 $between 3"
                    third=(--third "$between")
                    between=$((between + 1))
                    ;;
            esac
            run "$name" "server tests" scripts/server-tests.sh "test --quiet --test server" "${third[@]}" --skip "${skip[@]}"
            [ -s "$ROUGHLY_ABILITIES" ] || failed+=("$name: no records")
            ;;
        quick)
            number=$((number + 1))
            [ -z "${ROUGHLY_SAMPLE_SEED:-}" ] || export ROUGHLY_SAMPLE="$ROUGHLY_SAMPLE_SEED $((number % parts)) $parts"
            if [[ " ${oldest_and_newest[*]} " = *" $name "* ]]; then
                mapfile -t -O ${#skip[@]} skip < <(others)
                mapfile -t -O ${#skip[@]} skip < <(containing "${slow[@]}")
                run "$name" "server tests" scripts/server-tests.sh "test --quiet --test server" --skip "${skip[@]}"
            else
                between=$((between + 1)) chosen=()
                for i in "${!differing[@]}"; do
                    [ $(((i + between + ${ROUGHLY_SAMPLE_SEED:-0}) % 9)) -ne 0 ] || chosen+=("${differing[i]}")
                done
                mapfile -t -O ${#skip[@]} skip < <(printf '%s\n' "${tests[@]}" | grep -vF "${chosen[@]/#/-e}")
                run "$name" "some server tests" scripts/server-tests.sh "test --quiet --test server" --skip "${skip[@]}"
            fi
            ;;
        io-threads)
            # Redis 8.6 waits for all I/O threads at each registration of a command: 500 loads of the module take minutes. A cluster
            # of Valkey with I/O threads routes merges by their first key (docs/operations.md).
            mapfile -t -O ${#skip[@]} skip < <(
                others differential:: soak::
                containing a_failed_load_changes_nothing every_command_is_routed slot_migration_during
            )
            export ROUGHLY_SAMPLE="0 $number 2"
            number=$((number + 1))
            run "$name" "server tests with I/O threads" with_io_threads scripts/server-tests.sh "test --quiet --test server" --skip "${skip[@]}"
            run "$name" "clients with I/O threads" with_io_threads scripts/test-clients.sh
            ;;
        clients) run "$name" clients scripts/test-clients.sh ;;
        python)
            run "$name" "Python package" make test-python
            # The other tests do not depend on the server.
            export ROUGHLY_ONLY_SERVERS=1
            ;;
    esac
done
if [ "$mode" = quick ]; then
    name=${newest[$((${ROUGHLY_SAMPLE_SEED:-0} % 2))]}
    export ROUGHLY_SERVER=$PWD/target/servers/$name/server
    run "$name" "some tests with I/O threads" with_io_threads cargo test --quiet --test server -- \
        differential:: soak:: each_server::commands
fi

echo
printf 'test-matrix: passed on %s\n' "${passed[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'test-matrix: FAILED on %s\n' "${failed[@]}"
    exit 1
fi
[ "$mode" != full ] || ROUGHLY_TESTED=$PWD/target/tested.txt ROUGHLY_ABILITIES=$PWD/target/abilities \
    cargo test --quiet --test documents -- --include-ignored abilities:: versions::
