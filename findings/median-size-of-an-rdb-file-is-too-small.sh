#!/usr/bin/env bash
# Valkey 9.1.2 (Debian experimental): valkey-check-rdb --stats reports a median of 10 bytes, although nine of ten strings have 5 MB.
#
# The average is 4,500,001 bytes and the maximum 5,000,000, but the percentiles 50, 90 and 99 are 10: they omit the large strings.
# With nine strings of 2 MB they are 2,000,895.
#
# The script downloads the server into target/servers.
root=$(dirname "$(realpath "$0")")/..
. "$root/findings/lib/packages.sh"

"$root/scripts/fetch.sh" server valkey-newest
valkey=$root/target/servers/valkey-newest
"$valkey/server" --version | grep -F "v=9.1.2 "
"$valkey/server" --port 0 --unixsocket "$PWD/socket" --save "" > server.log &
server=$!
until "$valkey/cli" -s socket ping > pong 2> /dev/null && grep -q PONG pong; do
    kill -0 "$server"
    sleep 0.05
done
"$valkey/cli" -s socket set small 0123456789
for i in {1..9}; do
    "$valkey/cli" -s socket setrange "large$i" 4999999 x
done
"$valkey/cli" -s socket save
"$valkey/run" --argv0 valkey-check-rdb "$valkey/root/usr/bin/valkey-check-rdb" dump.rdb --stats > stats
grep -F elements.size. stats | cut -f 1,2 | tr -d ' ' | tee sizes
[ "$(cut -f 2 sizes | tr '\n' ' ')" = "5000000 4500001.00 10.00 10.00 10.00 " ]
