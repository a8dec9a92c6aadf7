#!/usr/bin/env bash
# Prints the server program that run and tour start, or with "cli" the client that belongs to it:
# $ROUGHLY_SERVER and its neighbour, else Redis or Valkey of the PATH.
set -euo pipefail

role=${1:-server}
if [ -n "${ROUGHLY_SERVER:-}" ]; then
    if [ "$role" = server ]; then
        echo "$ROUGHLY_SERVER"
        exit
    fi
    # target/servers/NAME/server has its cli beside it, /opt/redis/redis-server its redis-cli.
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
