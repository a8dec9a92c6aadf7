#!/usr/bin/env bash
# Prepares the release of the current commit: checks that it can be released, runs .ci/run, builds all packages, and
# prints what to upload and how. Does not create a tag, upload or publish anything.
#
#   scripts/release.sh               runs .ci/run, builds the packages, prints the steps
#   scripts/release.sh --no-checks   leaves out .ci/run
#
# The version is that of Cargo.toml. The working tree must be clean, CHANGELOG.md must have a dated section of the
# version and nothing under Unreleased, and the tag vVERSION must not exist or be the current commit. README.md must have the
# commands that download this version. All checks of scripts/check-release.sh must have passed on a commit with the same
# sources and dependencies: their record is .ci/release.
#
# Environment:
#   REPOSITORY  address of the repository, without https://, for example forge.example/roughly: if README.md has no commands that
#               download packages, the script writes them with this address. Commit this change, then run the script again.
#
# Writes the packages, SHA256SUMS and the release notes, the section of CHANGELOG.md, to target/dist. Deletes other files there.
#
# Exit status: 1 if the commit cannot be released or a check fails, 2 if the argument is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
. scripts/testing.sh

checks=yes
case ${1:-} in
    '') ;;
    --no-checks) checks=no ;;
    *)
        echo "release: unknown argument $1. Usage: release.sh [--no-checks]" >&2
        exit 2
        ;;
esac

check_clean() {
    [ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes; commit or remove them"
}

check_record() {
    local again="run make check-release, and commit what it writes" recorded failed changes
    [ -e .ci/release ] || fail "no run of all checks of a release is recorded: $again"
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

# module_of PACKAGE: prints the module in a tarball or Debian package.
module_of() {
    case $1 in
        *.deb) dpkg-deb --fsys-tarfile "$1" ;;
        *) gzip -dc "$1" ;;
    esac | tar -xO --wildcards '*/libroughly.so'
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
for crate in "${crates[@]}"; do
    [ "$(cargo pkgid -p "$crate" | sed 's/.*[#@]//')" = "$version" ] || fail "$crate has another version than $version"
done
heading=$(grep -m 1 -F "## [$version] - " CHANGELOG.md) || fail "CHANGELOG.md has no section [$version] with a date"
date=${heading#*] - }
[[ $date =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || fail "CHANGELOG.md: the date of [$version] is not YYYY-MM-DD: $date"
[ -n "$(section "[$version] - ")" ] || fail "CHANGELOG.md: the section [$version] is empty"
[ -z "$(section '[Unreleased]')" ] || fail "CHANGELOG.md has changes under Unreleased; move them to [$version]"
if tagged=$(git rev-parse --quiet --verify "refs/tags/$tag^{commit}"); then
    [ "$tagged" = "$(git rev-parse HEAD)" ] || fail "the tag $tag is another commit, ${tagged:0:12}"
fi
check_record
echo "release: version $version, commit $revision" >&2

if [ "$checks" = yes ]; then
    .ci/run
    check_clean
fi

# Packages of other versions would be in SHA256SUMS.
rm -rf target/dist
scripts/dist.sh
sdist=roughly-$version.tar.gz
files=("$sdist")
for target in $(all_targets); do
    files+=("roughly-$version-$(platform "$target")".{tar.gz,cdx.json})
done
for target in $(debian_targets); do
    files+=("roughly_${version}_$(debian_architecture "$target").deb")
done
for file in "${files[@]}"; do
    [ -s "target/dist/$file" ] || fail "target/dist/$file was not built"
    grep -q "  $file\$" target/dist/SHA256SUMS || fail "SHA256SUMS does not have $file"
    case $file in "$sdist" | *.cdx.json) continue ;; esac
    # The module reports its revision in INFO.
    module_of "target/dist/$file" | grep -aF "$revision" > /dev/null \
        || fail "the module in $file was not built from commit $revision"
done
wheels=$(cd target/dist && find . -name "roughly-$version-cp310-abi3-*.whl" | wc -l)
[ "$wheels" -eq "$(wheel_targets | wc -l)" ] || fail "target/dist/roughly-$version-*.whl: $wheels wheels were built"
(cd target/dist && sha256sum --quiet -c SHA256SUMS) || fail "checksums of the packages"
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
       twine upload target/dist/*.whl target/dist/$sdist
5. Build and push the image, with the name of your registry instead of registry.example:
       docker buildx build --platform $platforms -f packaging/Dockerfile \\
           --build-arg REVISION=$revision -t registry.example/roughly:$version --push .
LINES
