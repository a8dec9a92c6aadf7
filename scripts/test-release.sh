#!/usr/bin/env bash
# Checks scripts/release.sh in a clone: that it refuses commits that cannot be released, and what it prints and writes
# otherwise. Takes no arguments. A replacement of scripts/dist.sh creates packages without a real module, because
# building takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/testing.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-release-XXXXXX")
trap 'rm -rf "$dir"' EXIT
git clone --quiet . "$dir/clone"
cp scripts/*.sh "$dir/clone/scripts"
cd "$dir/clone"
# The user's settings can sign commits or run hooks.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
. scripts/targets.sh
version=$(package_version)

commit() {
    git add -A
    git commit --quiet --allow-empty -m "$1"
}

# release: runs the script with its output in the file output, and returns its exit status.
release() {
    scripts/release.sh --no-checks > "$dir/output" 2>&1
}

# refuses MESSAGE: the script must fail with this message.
refuses() {
    if release; then
        fail "no failure with the message: $1"
    fi
    grep -qF "release: FAILED: $1" "$dir/output" || fail "expected the message: $1, got: $(< "$dir/output")"
}

# changelog UNRELEASED HEADING: writes CHANGELOG.md.
changelog() {
    printf '# Changelog\n\n## [Unreleased]\n\n%s\n\n%s\n\n### Added\n\n- A command.\n\n## [0.0.1] - 2026-01-01\n\n- Old.\n' \
        "$1" "$2" > CHANGELOG.md
    commit "Changelog"
}

# shellcheck disable=SC2016
printf '#!/bin/sh\nexit $RESULT\n' > scripts/test-release.sh
for stub in test-image install fetch; do
    printf '#!/bin/sh\n' > scripts/$stub.sh
done
sed -i '/^all="/,/"$/c all="release\nimage"' scripts/check-release.sh
commit "Two checks of a release"

# record RESULT [CHECK]: runs both, the first of which exits with RESULT, or CHECK, and commits the record.
record() {
    local status=0
    RESULT=$1 ROUGHLY_WRITE=1 scripts/check-release.sh "${@:2}" > "$dir/output" 2>&1 || status=$?
    [ "$status" = "$1" ] || fail "check-release exits with $status: $(< "$dir/output")"
    commit "The record"
}

cat > scripts/dist.sh << 'SCRIPT'
#!/usr/bin/env bash
set -euo pipefail
. scripts/targets.sh
version=$(package_version)
mkdir -p target/dist target/modules
git rev-parse "${BUILT_COMMIT:-HEAD}" > target/modules/libroughly.so
for target in $(all_targets); do
    tar -C target -czf "target/dist/roughly-$version-$(platform "$target").tar.gz" modules
done
(cd target/dist && sha256sum -- * > SHA256SUMS)
SCRIPT

changelog "" "## [$version] - 2026-01-02"
touch new
refuses "there are uncommitted changes"
rm new
refuses "README.md has no address of the repository"
REPOSITORY=forge.example/roughly refuses "README.md has the address https://forge.example/roughly now"
for text in "curl -fLO https://forge.example/roughly/releases/download/v$version/roughly_${version}_amd64.deb" \
    "git clone https://forge.example/roughly roughly" "roughly-$version-linux-x86_64-musl.tar.gz | tar xz"; do
    grep -qF "$text" README.md || fail "README.md does not have: $text"
done
! grep -q '^<!-- make release' README.md || fail "README.md still has the comment"
commit "The address"
changelog "- A change." "## [$version] - 2026-01-02"
refuses "CHANGELOG.md has changes under Unreleased"
changelog "" "## [$version] - soon"
refuses "CHANGELOG.md has no section [$version] with a date"
changelog "" "## [$version] - 2026-01-02"
record 1
tail -n 2 "$dir/output" | tr -d '0-9' | cmp -s - <(printf '%s  min\n' "release failed" "image passed") || fail "the results: $(< "$dir/output")"
refuses "checks that failed: release."
record 0 release
release || fail "the repeated check has not replaced its result: $(< "$dir/output")"
sed -i 's/^commit ./commit /' .ci/release
commit "An unknown commit"
refuses "the recorded commit $(sed -n 's/^commit \(.\{12\}\).*/\1/p' .ci/release) is no ancestor"
for path in {src,crates,python,packaging}/changed Cargo.lock scripts/copy-sketches; do
    record 0
    echo >> "$path"
    commit "A change of $path"
    refuses "the checks were run on $(git rev-parse --short=12 HEAD~2), before these changes"
done
! ROUGHLY_WRITE=1 scripts/check-release.sh image > "$dir/output" 2>&1 || fail "the result for another commit is recorded"
record 0
changelog "" "## [$version] - 2026-01-02"
BUILT_COMMIT=HEAD~1 refuses "the module for $(all_targets | sed -n 1p) was not built from"

mkdir -p target/dist
touch target/dist/roughly-0.0.1-old.tar.gz
release || fail "$(< "$dir/output")"
for text in "git tag -a v$version" "cargo publish --locked -p roughly-dump" "Note: CHANGELOG.md has the date 2026-01-02" \
    "--build-arg REVISION=$(git rev-parse --short=12 HEAD)" "SHA256SUMS" \
    "scripts/check-release.sh: passed, commit $(git rev-parse --short=12 HEAD~2)"; do
    grep -qF -e "$text" "$dir/output" || fail "the output does not have: $text"
done
! grep -q old "$dir/output" || fail "the output has a package of another version"
[ "$(grep -cxFf target/dist/SHA256SUMS "$dir/output")" = "$(wc -l < target/dist/SHA256SUMS)" ] || fail "the output does not have all files"
printf '### Added\n\n- A command.\n' | cmp - target/dist/release-notes.md || fail "release-notes.md: $(< target/dist/release-notes.md)"
passed "scripts/release.sh refuses what cannot be released, and lists the files and the steps"
