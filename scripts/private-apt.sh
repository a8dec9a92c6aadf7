# shellcheck shell=bash
# Functions that run apt-get with a separate state, cache and source list, to download packages of any Debian
# suite without changing this machine. Other scripts source this file. The functions use the archives that
# this machine uses for its own packages.

# archives: prints the URLs of the archives that are configured on this machine, except for security updates. Some
# may not be Debian's; apt-get refuses those because of their signatures.
archives() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
        | awk '$1 == "main" && $2 !~ /security/ && !seen[$3]++ { print $3 }'
}

# private_apt STATE COMMAND...: runs apt-get with an empty package database, so that it downloads all
# dependencies. The variable private_architecture selects another architecture than this machine's.
private_apt() {
    local state=$1
    shift
    apt-get -qq \
        -o Dir::Etc::sourcelist="$state/suite.sources" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::State="$state/state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o APT::Architecture="${private_architecture:=$(dpkg --print-architecture)}" \
        -o APT::Architectures="$private_architecture" \
        -o Acquire::Languages=none -o Acquire::Retries=2 \
        "$@" < /dev/null
}

# private_lists STATE TYPE SUITES ARCHIVE: recreates STATE with the lists of packages (TYPE deb) or source
# packages (TYPE deb-src) of the archive's suites.
private_lists() {
    local state=$1 type=$2 suites=$3 archive=$4 keyring
    keyring=$(find /usr/share/keyrings -name 'debian-archive-keyring.[gp]*' 2> /dev/null | sort | head -n 1)
    if [ -z "$keyring" ]; then
        echo "private-apt: the signing keys of Debian's archive are missing; install the package debian-archive-keyring" >&2
        return 1
    fi
    rm -rf "$state"
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial"
    : > "$state/status"
    printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$type" "$archive" "$suites" "$keyring" > "$state/suite.sources"
    private_apt "$state" update
}

# private_download STATE SUITE PACKAGE...: downloads the packages and all dependencies into STATE/cache/archives.
private_download() {
    local state=$1 suite=$2 archive suites
    shift 2
    # Packages of backports depend on packages of the base release.
    suites=$suite
    [ "$suite" = "${suite%-backports}" ] || suites="${suite%-backports} $suite"
    for archive in $(archives); do
        if private_lists "$state" deb "$suites" "$archive" \
            && private_apt "$state" install --download-only --no-install-recommends -y \
                -t "$suite" "$@" > /dev/null; then
            return 0
        fi
    done
    return 1
}
