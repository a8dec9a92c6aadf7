#!/usr/bin/env bash
# Builds packaging/Dockerfile with Buildah, and runs the server of the image with the command and the health check of
# packaging/compose.yaml. Then runs it with the module of packaging/kubernetes/Dockerfile. Takes no arguments.
#
# The test uses no image registry. Two local images replace the base images: Debian bookworm with this machine's Rust,
# and Debian trixie with its Valkey, from the systems that scripts/fetch.sh chroot creates. Therefore the entry point of the
# server's image is not tested.
#
# Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/testing.sh
needs_root

scripts/install.sh build tools debootstrap buildah docker-compose
store=$PWD/target/image
mkdir -p "$store/tmp"
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-image-XXXXXX")
root=""
buildah() {
    # Buildah keeps cache mounts below TMPDIR.
    TMPDIR=$store/tmp command buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"
}
trap 'stop_server; umount "$root/modules" 2> /dev/null || true; buildah rm -a > /dev/null 2>&1 || true; rm -rf "$dir"' EXIT

# base_image NAME SUITE PACKAGE...: creates the image localhost/NAME from a Debian system with these packages.
base_image() {
    local name=$1 container
    container=$(buildah from scratch)
    new_system "$(buildah mount "$container")" "${@:2}"
    buildah umount "$container" > /dev/null
    # The mount point of Rust, which only the build uses.
    buildah config --env PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin --env CARGO_HOME=/usr/local/cargo "$container"
    buildah commit --quiet "$container" "localhost/$name" > /dev/null
    buildah rm "$container" > /dev/null
}

docker-compose -f packaging/compose.yaml config --quiet || fail "packaging/compose.yaml"
passed "docker-compose accepts compose.yaml"

if ! buildah inspect --type image localhost/rust > /dev/null 2>&1; then
    # The packages of Debian in the image of Rust that the build needs.
    base_image rust bookworm gcc libc6-dev ca-certificates
fi
base_image server trixie valkey-server

# The context must not depend on other files of the clone.
revision=0123456789ab
rust=$(rustc --print sysroot)
buildah bud --isolation chroot --network host --layers=false --pull-never \
    --volume "$rust:/opt/rust:ro" \
    --volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt:ro \
    --build-arg RUST_IMAGE=localhost/rust --build-arg SERVER_IMAGE=localhost/server \
    --build-arg "REVISION=$revision" -f packaging/Dockerfile -t roughly . > "$dir/build" 2>&1 \
    || fail "the build: $(tail -n 20 "$dir/build")"
passed "Buildah builds the image"

container=$(buildah from roughly)
root=$(buildah mount "$container")
for file in LICENSE-MIT LICENSE-APACHE THIRD-PARTY.txt; do
    [ -s "$root/usr/share/doc/roughly/$file" ] || fail "the image has no $file"
done
grep -q '^redis-module ' "$root/usr/share/doc/roughly/THIRD-PARTY.txt" || fail "THIRD-PARTY.txt lists no redis-module"

# start ARGUMENT...: starts a server in the image, as the user of the server, with a socket instead of a port.
start() {
    install -d -o 999 -g 999 "$root/data"
    chroot "$root" setpriv --reuid 999 --regid 999 --clear-groups "$@" --port 0 --unixsocket /data/socket --dir /data \
        > "$dir/log" 2>&1 &
    server=$!
    wait_for_server client || fail "the server does not start: $(< "$dir/log")"
}
client() {
    chroot "$root" valkey-cli -e -s /data/socket "$@"
}

mapfile -t image_command < <(buildah inspect --type image --format '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' roughly \
    | sed '/^$/d')
start "${image_command[@]}"
[ "$(client BF.ADD key item)" = 1 ] || fail "BF.ADD in the image"
grep -q "revision:$revision" <<< "$(client INFO bf_version)" || fail "the module in the image has another revision"
stop_server TERM
rm -rf "$root/data"
passed "the command of the image starts a server with the module"

# The image for a volume, from a directory as that of the tarball.
scripts/dist.sh stage "$root/usr/lib/redis/modules/libroughly.so" "$dir/tarball"
cp "$root/usr/share/doc/roughly/THIRD-PARTY.txt" "$dir/tarball"
buildah bud --layers=false --pull-never -f packaging/kubernetes/Dockerfile -t module "$dir/tarball" > "$dir/build" 2>&1 \
    || fail "the build of the module's image: $(tail -n 20 "$dir/build")"
module=$(buildah from module)
files=$(cd "$(buildah mount "$module")" && find . -type f | LC_ALL=C sort)
[ "$files" = $'./LICENSE-APACHE\n./LICENSE-MIT\n./THIRD-PARTY.txt\n./libroughly.so' ] || fail "the module's image has: $files"
mkdir "$root/modules"
mount --bind -o ro "$(buildah mount "$module")" "$root/modules"
start valkey-server --loadmodule /modules/libroughly.so
[ "$(client BF.ADD key item)" = 1 ] || fail "BF.ADD with the module's image"
stop_server TERM
umount "$root/modules"
rm -rf "$root/data"
passed "a server loads the module from an image that contains only the module"

# Prints a value of compose.yaml: one line per element of a list.
compose_value() {
    target/tools/bin/python -c '
import sys, yaml
value = yaml.safe_load(open("packaging/compose.yaml"))["services"]["roughly"]
for name in sys.argv[1:]:
    value = value[name]
print("\n".join(map(str, value)))
' "$@"
}
# The server of the image has a socket instead of a port.
health=$(compose_value healthcheck test | sed -n '2s|valkey-cli|valkey-cli -s /data/socket|p')
[ -n "$health" ] || fail "the health check of compose.yaml has no valkey-cli"
mapfile -t compose_command < <(compose_value command)
start "${compose_command[@]}"
chroot "$root" sh -c "$health" || fail "the health check fails"
[ "$(client BF.ADD key item)" = 1 ] || fail "BF.ADD with the command of compose.yaml"
grep -qx 1073741824 <<< "$(client CONFIG GET maxmemory)" || fail "maxmemory with the command of compose.yaml"
stop_server TERM
if chroot "$root" sh -c "$health" 2> /dev/null; then
    fail "the health check succeeds without a server"
fi
start "${compose_command[@]}"
[ "$(client BF.EXISTS key item)" = 1 ] || fail "the key is missing after a restart"
stop_server TERM
passed "the command and the health check of compose.yaml work; data survive a restart"
