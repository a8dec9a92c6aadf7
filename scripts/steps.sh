# shellcheck shell=bash
# Reports the progress of a script with several steps: before each step its number and the time that it takes on two cores from a
# fresh clone, and after it the time that it took. Other scripts source this file.
#
#   steps 7                                       the script has seven steps
#   step "server tests" "4 minutes" make test     runs a step
#
# prints, for example:
#
#   run: [3/7] server tests, about 4 minutes
#   run: [3/7] server tests: passed in 3 min 50 s

step_number=0 step_count=0 step_times=()

# steps COUNT: sets the number of steps.
steps() {
    step_count=$1
}

# step TITLE ESTIMATE COMMAND...: runs a command. If it fails, exits with its status.
step() {
    local title=$1 estimate=$2 start=$SECONDS status=0 label
    shift 2
    step_number=$((step_number + 1))
    label="$(basename "$0" .sh): [$step_number/$step_count] $title"
    echo "$label, about $estimate"
    "$@" || status=$?
    step_times+=("$(duration $((SECONDS - start)))  $title")
    if [ "$status" -ne 0 ]; then
        echo "$label: FAILED after $(duration $((SECONDS - start)))"
        exit "$status"
    fi
    echo "$label: passed in $(duration $((SECONDS - start)))"
}

# print_times: prints the time that each step took.
print_times() {
    [ ${#step_times[@]} -eq 0 ] || printf '%s\n' "${step_times[@]}"
}

# duration SECONDS: prints a duration.
duration() {
    if [ "$1" -lt 60 ]; then
        echo "$1 s"
    else
        echo "$(($1 / 60)) min $(($1 % 60)) s"
    fi
}
