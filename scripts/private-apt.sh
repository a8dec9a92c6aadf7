# shellcheck shell=bash
# apt with state, cache and sources of its own: packages of any Debian suite, without a change of the
# machine. To be sourced. No host is named here: the suites are looked for where this machine gets its own
# packages from.

# The archives that this machine's apt knows, but for those of security updates. The signature tells
# whether one is Debian's.
archives() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
        | awk '$1 == "main" && $2 !~ /security/ && !seen[$3]++ { print $3 }'
}

# private_apt STATE COMMAND...: apt-get on an empty package database, so that a package comes with all
# its libraries.
private_apt() {
    local state=$1
    shift
    apt-get -qq \
        -o Dir::Etc::sourcelist="$state/suite.sources" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::State="$state/state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o APT::Architectures="$(dpkg --print-architecture)" \
        -o Acquire::Languages=none -o Acquire::Retries=2 \
        "$@" < /dev/null
}

# private_lists STATE TYPE SUITES ARCHIVE: makes STATE anew, with the lists of packages (TYPE deb) or
# sources (TYPE deb-src) of an archive's suites.
private_lists() {
    local state=$1 type=$2 suites=$3 archive=$4 keyring
    keyring=$(find /usr/share/keyrings -name 'debian-archive-keyring.[gp]*' 2> /dev/null | sort | head -n 1)
    if [ -z "$keyring" ]; then
        echo "private-apt: the keys of Debian's archive are missing (package debian-archive-keyring)" >&2
        return 1
    fi
    rm -rf "$state"
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial"
    : > "$state/status"
    printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$type" "$archive" "$suites" "$keyring" > "$state/suite.sources"
    private_apt "$state" update
}
