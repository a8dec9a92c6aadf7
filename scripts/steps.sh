# shellcheck shell=bash
# Reports the progress of a script with several steps: before each step its number, and after it the time that it took. Other scripts
# source this file.

# Also ends the effect of settings of the user's shell on where Cargo builds, what other programs print, and whether Python
# checks assertions. The Makefile has the same list.
unset CDPATH CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR REDISCLI_AUTH VALKEYCLI_AUTH FORCE_COLOR CLICOLOR_FORCE PYTHONOPTIMIZE
export LC_ALL=C.UTF-8

# The tests replace programs by scripts.
program=$(mktemp)
printf '#!/bin/sh\n' > "$program"
chmod +x "$program"
"$program" 2> /dev/null || {
    echo "$(basename "$0" .sh): no programs run in ${TMPDIR:-/tmp} (noexec?): set TMPDIR to another directory" >&2
    exit 1
}
rm "$program"
unset program

# processors: prints the number of processors that the control group allows, at most all.
processors() {
    local quota period count
    count=$(nproc)
    if read -r quota period 2> /dev/null < /sys/fs/cgroup/cpu.max && [ "$quota" != max ]; then
        quota=$(((quota + period - 1) / period))
        [ "$quota" -ge "$count" ] || count=$quota
    fi
    echo "$count"
}

# Incremental compilation and debug information help only repeated builds. The same in all scripts, so that they use the same test
# programs.
build_once() {
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_TEST_DEBUG=false
}

# end_jobs: ends the background jobs that were started with `set -m`, and what they started.
end_jobs() {
    local job
    for job in $(jobs -p); do
        kill -- "-$job" 2> /dev/null || true
    done
}

step_number=0 step_count=0

# steps COUNT [MINUTES]: sets the number of steps.
steps() {
    step_count=$1
    [ $# -lt 2 ] || echo "$(basename "$0" .sh): $1 steps, about $2 minutes on two cores in a new clone"
}

# minutes COMMAND: prints the minutes of a command in the last recorded run.
minutes() {
    sed -n "s|^$1 ||p" .ci/minutes
}

# step TITLE COMMAND...: runs a command, and returns its status. Sets step_seconds to the time that it took.
step() {
    local title=$1 start=$SECONDS status=0 result="passed in" label processor
    shift
    processor=$(processor_seconds)
    step_number=$((step_number + 1))
    label="$(basename "$0" .sh): [$step_number/$step_count] $title"
    echo "$label"
    "$@" || status=$? result="FAILED after"
    step_seconds=$((SECONDS - start))
    echo "$label: $result $(duration $step_seconds) (processor time: $(duration $(($(processor_seconds) - processor))))"
    return "$status"
}

# processor_seconds: prints the processor time of all commands of the script that have ended so far.
processor_seconds() {
    # The fields cutime and cstime (proc_pid_stat(5)).
    awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*[)] /, ""); printf "%d", ($14 + $15) / ticks }' "/proc/$$/stat"
}

# duration SECONDS: prints a duration.
duration() {
    if [ "$1" -lt 60 ]; then
        echo "$1 s"
    else
        echo "$(($1 / 60)) min $(($1 % 60)) s"
    fi
}
