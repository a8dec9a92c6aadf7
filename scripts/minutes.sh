#!/usr/bin/env bash
# Compares the minutes in CONTRIBUTING.md with those of the recorded runs: .ci/minutes of .ci/run, and .ci/release of
# scripts/check-release.sh. With ROUGHLY_WRITE=1, writes them. Takes no arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p target
awk '
    FILENAME == ".ci/minutes" { name = $0; sub(/ [0-9]+$/, "", name); minutes[0, name] = $NF }
    FILENAME == ".ci/release" && $2 ~ /^(passed|failed)$/ { minutes[1, $1] = $3 }
    FILENAME == ".ci/release" && $1 == "minutes" { minutes[0, "make check-release"] = $2 }
    FILENAME != "CONTRIBUTING.md" { next }
    /^\| check of a release / { release = 1 }
    /^$/ { release = 0 }
    /^\| `/ && split($0, part, "`") && (release, part[2]) in minutes {
        sub(/[^|]*\|$/, " " minutes[release, part[2]] " |")
        delete minutes[release, part[2]]
    }
    { print }
    END { for (name in minutes) { sub(".*" SUBSEP, "", name); print "minutes: CONTRIBUTING.md has no row of " name > "/dev/stderr"; exit 1 } }
' .ci/minutes .ci/release CONTRIBUTING.md > target/minutes.md
[ "${ROUGHLY_WRITE:-}" != 1 ] || cp target/minutes.md CONTRIBUTING.md
diff CONTRIBUTING.md target/minutes.md
