#!/usr/bin/env bash
# On a busy machine, Redis with I/O threads can reply before it writes a command to the append-only file, also with `appendfsync always`. If
# the process ends between the two, an acknowledged write is lost. WAITAOF waits for the file.
#
# Redis 8.6.3 (Debian experimental), io-threads 4, appendfsync always, one client, SET, two processors and eight busy processes: after 0 to
# 1,371 of 3,000 replies, the file lacked the command. With WAITAOF 1 0 0 after each command, or without I/O threads: never.
# Redis 8.0.2 and Valkey 9.1.2 with I/O threads: never (3,000 replies each).
#
# The script downloads the server into target/servers. It repeats the measurement until it finds a case, at most 50 times.
root=$(dirname "$(realpath "$0")")/..
. "$root/findings/lib/packages.sh"

"$root/scripts/fetch.sh" server redis-newest
redis=$root/target/servers/redis-newest/server
"$redis" --version | grep -F "v=8.6.3 "
export redis port="${ROUGHLY_FINDINGS_PORT:-7419}"
python3 - << 'PYTHON'
import glob, os, socket, subprocess, time

def missing(name, arguments, after=None):
    directory = os.path.abspath(name)
    os.mkdir(directory)
    server = subprocess.Popen(
        [os.environ["redis"], "--port", os.environ["port"], "--dir", directory, "--save", "", "--appendonly", "yes",
         "--appendfsync", "always", "--logfile", "log", *arguments])
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4 * os.cpu_count())]
    try:
        client = socket.socket()
        while client.connect_ex(("127.0.0.1", int(os.environ["port"]))) != 0:
            time.sleep(0.05)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(b"PING\r\n")
        client.recv(100)
        (log,) = glob.glob(f"{directory}/appendonlydir/*.incr.aof")
        number = 0
        with open(log, "rb") as log:
            for i in range(3000):
                value = b"value:%09d" % i
                client.sendall(b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$15\r\n%s\r\n" % value)
                assert client.recv(100) == b"+OK\r\n"
                if after:
                    client.sendall(after)
                    client.recv(100)
                log.seek(max(0, os.fstat(log.fileno()).st_size - 500))
                number += value not in log.read()
    finally:
        for process in [server, *busy]:
            process.kill()
            process.wait()
    return number

threads = ["--io-threads", "4"]
found = 0
for attempt in range(50):
    found = found or missing(f"threads{attempt}", threads)
others = [missing("wait", threads, b"WAITAOF 1 0 0\r\n"), missing("single", [])]
print("replies before the file had the command: with I/O threads", found, "with them and WAITAOF, without them:", others)
assert found > 0 and others == [0, 0]
PYTHON
