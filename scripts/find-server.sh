#!/usr/bin/env bash
# Prints the path of the server program that the other scripts start, or of a program that belongs to it.
#
#   scripts/find-server.sh           the server
#   scripts/find-server.sh cli       the command-line client
#   scripts/find-server.sh benchmark the benchmark program
#
# Environment:
#   ROUGHLY_SERVER  server program; other programs are looked up in the same directory first
#                   (default: redis-server, or else valkey-server, on the PATH)
#
# Exit status: 1 if the program is missing.
set -euo pipefail

role=${1:-server}
if [ -n "${ROUGHLY_SERVER:-}" ]; then
    if [ "$role" = server ]; then
        echo "$ROUGHLY_SERVER"
        exit
    fi
    # target/servers/NAME/server belongs to NAME/cli, and /opt/redis/redis-server to /opt/redis/redis-cli.
    client=$(dirname "$ROUGHLY_SERVER")/$(basename "$ROUGHLY_SERVER" | sed "s/server\$/$role/")
    if [ -x "$client" ]; then
        echo "$client"
        exit
    fi
fi
for kind in redis valkey; do
    if command -v "$kind-$role"; then
        exit
    fi
done
echo "find-server: no redis-$role or valkey-$role on the PATH" >&2
exit 1
