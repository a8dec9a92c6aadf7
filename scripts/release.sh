#!/usr/bin/env bash
# Prepares the release of the current commit: checks that it can be released, runs .ci/run, builds all packages, and
# prints what to upload and how. Does not create a tag, upload or publish anything.
#
#   scripts/release.sh               runs .ci/run, builds the packages, prints the steps
#   scripts/release.sh --no-checks   leaves out .ci/run
#
# The version is that of Cargo.toml. The working tree must be clean, CHANGELOG.md must have a dated section of the
# version and nothing under Unreleased. README.md must have the commands that download this version. All checks of
# scripts/check-release.sh must have passed on a commit with the same sources and dependencies: their record is .ci/release.
#
# Environment:
#   REPOSITORY  address of the repository, without https://, for example forge.example/roughly: if README.md has no commands that
#               download packages, the script writes them with this address. Commit this change, then run the script again.
#
# Writes the packages, SHA256SUMS and the release notes, the section of CHANGELOG.md, to target/dist. Deletes other files there.
#
# Exit status: 1 if the commit cannot be released or a check fails.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
. scripts/testing.sh

checks=yes
case ${1:-} in
    '') ;;
    --no-checks) checks=no ;;
    *) fail "unknown argument $1; usage: release.sh [--no-checks]" ;;
esac

check_clean() {
    [ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes; commit or remove them"
}

check_record() {
    local again="run make check-release, and commit what it writes" recorded failed changes
    failed=$(awk '$2 == "failed" { print $1 }' .ci/release | paste -s -d ' ')
    [ -z "$failed" ] || fail "checks that failed: $failed. Remove the causes, then $again"
    recorded=$(sed -n 's/^commit //p' .ci/release)
    git merge-base --is-ancestor "$recorded" HEAD 2> /dev/null || fail "the recorded commit ${recorded:0:12} is no ancestor of this one: $again"
    changes=$(git log --format='%h %s' "$recorded.." -- "${released[@]}")
    [ -z "$changes" ] || fail "the checks were run on ${recorded:0:12}, before these changes; $again: $changes"
}

# section HEADING: prints the section of CHANGELOG.md whose heading begins with HEADING, without the heading and without empty
# lines at both ends.
section() {
    awk -v heading="## $1" '
        /^## / { inside = index($0, heading) == 1; next }
        inside && (NF || text != "") { text = text $0 "\n" }
        END { sub(/\n+$/, "", text); if (text != "") print text }
    ' CHANGELOG.md
}

# downloads: prints the text for README.md with the commands that download the packages and the sources.
downloads() {
    local files=https://$REPOSITORY/releases/download/$tag linux musl
    linux=roughly-$version-$(platform x86_64-unknown-linux-gnu)
    musl=roughly-$version-$(platform x86_64-unknown-linux-musl)
    cat << LINES
Packages of the release for x86-64, instead of the first two commands ([arm64, checksums](docs/packages.md)):

\`\`\`text
# Debian, Ubuntu
curl -fLO $files/roughly_${version}_amd64.deb && sudo apt install ./roughly_${version}_amd64.deb
# Other Linux
curl -fL $files/$linux.tar.gz | tar xz && sudo $linux/install.sh
# Alpine, as root
wget -qO- $files/$musl.tar.gz | tar xz && $musl/install.sh
# The sources
git clone https://$REPOSITORY roughly && cd roughly
\`\`\`
LINES
}

version=$(package_version)
tag=v$version
revision=$(git rev-parse --short=12 HEAD)
crates=(roughly-dump roughly-sketch) # each one after those that it depends on

check_clean
marker='<!-- make release writes the address of the packages here -->'
if grep -qxF "$marker" README.md; then
    [ -n "${REPOSITORY:-}" ] || fail "README.md has no address of the repository: make release REPOSITORY=forge.example/roughly"
    downloads | sed -i -e "/^$marker\$/{r /dev/stdin" -e 'd}' README.md
    fail "README.md has the address https://$REPOSITORY now; commit it and run this script again"
fi
date=$(sed -n "s/^## \[${version//./\\.}\] - \([0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\)\$/\1/p" CHANGELOG.md)
[ -n "$date" ] || fail "CHANGELOG.md has no section [$version] with a date, YYYY-MM-DD"
[ -n "$(section "[$version] - ")" ] || fail "CHANGELOG.md: the section [$version] is empty"
[ -z "$(section '[Unreleased]')" ] || fail "CHANGELOG.md has changes under Unreleased; move them to [$version]"
check_record
echo "release: version $version, commit $revision" >&2

if [ "$checks" = yes ]; then
    .ci/run
    check_clean
fi

# Packages of other versions would be in SHA256SUMS.
rm -rf target/dist
scripts/dist.sh
for target in $(all_targets); do
    # The module reports its revision in INFO.
    tar -xzO --wildcards -f "target/dist/roughly-$version-$(platform "$target").tar.gz" '*/libroughly.so' | grep -aF "$revision" > /dev/null \
        || fail "the module for $target was not built from commit $revision"
done
section "[$version] - " > target/dist/release-notes.md
check_clean

platforms=$(for target in $(debian_targets); do debian_architecture "$target"; done | sed 's|^|linux/|' | paste -s -d ,)
cat << LINES

Roughly $version, commit $revision, $date

Files to upload, in target/dist: SHA256SUMS, and the files in it:

$(< target/dist/SHA256SUMS)

The checks in .ci/run: $([ "$checks" = yes ] && echo passed || echo "not run (--no-checks)")
The checks in scripts/check-release.sh: passed, $(sed -n 's/^commit \(.\{12\}\).*/commit \1/p; s/^date //p' .ci/release | paste -s -d ' ')
LINES
[ "$date" = "$(date -u +%F)" ] || echo "Note: CHANGELOG.md has the date $date, and today is $(date -u +%F)."
cat << LINES

Steps:

1. Tag the commit:
       git tag -a $tag -m "Roughly $version" $revision
       git push origin $tag
2. Create a release of this tag with the text of target/dist/release-notes.md, and upload the files above.
3. Publish the crates, in this order:
$(printf '       cargo publish --locked -p %s\n' "${crates[@]}")
4. Upload the Python package to the package index:
       twine upload target/dist/*.whl target/dist/roughly-$version.tar.gz
5. Build and push the image, with the name of your registry instead of registry.example:
       docker buildx build --platform $platforms -f packaging/Dockerfile \\
           --build-arg REVISION=$revision -t registry.example/roughly:$version --push .
LINES
