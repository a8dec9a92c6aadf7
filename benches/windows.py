#!/usr/bin/env python3
"""CPU time of commands on sketches with a window whose panes all have items, divided by that without a window.

    benches/windows.py SERVER MODULE    for example: target/servers/redis-7.0/server target/release/libroughly.so

Prints for 12 and 60 panes the fastest of five rounds. The time is that of the server's main thread (/proc/PID/schedstat).
"""

import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PORT = 7555
DAY_MS = 86_400_000
PANES = (0, 12, 60)
ROUNDS = 5
END = b"$3\r\nEND\r\n"


def request(*words):
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def items(number, known=1_000_000):
    return [f"item:{random.randrange(known)}" for _ in range(number)]


def pairs(number):
    return [word for item in items(number) for word in (item, 1)]


def append_only_file():
    """Sketches of which every pane has items. Clients cannot choose the pane of an item, so the server reads them from a file."""
    today = time.time_ns() // 1_000_000 // DAY_MS
    kinds = (
        ("cms", ["CMS.INITBYDIM", 2000, 7], lambda key: ["CMS.INCRBY", key, *pairs(1000)]),
        ("topk", ["TOPK.RESERVE", 100, 1000, 7, 0.9], lambda key: ["TOPK.ADD", key, *items(1000, 2000)]),
        ("tdigest", ["TDIGEST.CREATE"], lambda key: ["TDIGEST.ADD", key, *(random.random() for _ in range(500))]),
    )
    for name, (command, *arguments), addition in kinds:
        for panes in PANES:
            key = f"{name}{panes}"
            window = ["WINDOW", DAY_MS * panes, "PANES", panes] if panes else []
            yield request(command, key, *arguments, *window)
            for pane in range(today - panes, today + 1):
                if panes:
                    yield request("SKETCH.ADVANCE", key, pane)
                yield request(*addition(key))


CASES = (
    ("CMS.QUERY", 60_000, lambda panes: ["CMS.QUERY", f"cms{panes}", *items(1)]),
    ("CMS.QUERY ×50", 20_000, lambda panes: ["CMS.QUERY", f"cms{panes}", *items(50)]),
    ("CMS.INCRBY", 60_000, lambda panes: ["CMS.INCRBY", f"cms{panes}", *pairs(1)]),
    ("CMS.INCRBY ×50", 12_000, lambda panes: ["CMS.INCRBY", f"cms{panes}", *pairs(50)]),
    ("CMS.INCRBYLIMIT", 60_000, lambda panes: ["CMS.INCRBYLIMIT", f"cms{panes}", 100_000_000, *pairs(1)]),
    ("TOPK.ADD, k 100", 60_000, lambda panes: ["TOPK.ADD", f"topk{panes}", *items(1, 2000)]),
    ("TDIGEST.ADD", 60_000, lambda panes: ["TDIGEST.ADD", f"tdigest{panes}", random.random()]),
    ("TDIGEST.QUANTILE", 60_000, lambda panes: ["TDIGEST.QUANTILE", f"tdigest{panes}", 0.5]),
)


def measure(server, connection, command, number):
    """The CPU time in nanoseconds per command."""
    batches = [b"".join(request(*command()) for _ in range(64)) + request("ECHO", "END") for _ in range(number // 64)]
    processor_time = Path(f"/proc/{server.pid}/schedstat")
    before = int(processor_time.read_text().split()[0])
    for batch in batches:
        connection.sendall(batch)
        reply = b""
        while not reply.endswith(END):
            reply = reply[-len(END) :] + connection.recv(1 << 18)
    return (int(processor_time.read_text().split()[0]) - before) / (len(batches) * 64)


def main(program, module):
    random.seed(1)
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "appendonly.aof").write_bytes(b"".join(append_only_file()))
        options = ["--port", str(PORT), "--save", "", "--dir", directory, "--appendonly", "yes", "--appendfsync", "no"]
        server = subprocess.Popen([program, *options, "--loadmodule", module], stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            with socket.create_connection(("127.0.0.1", PORT)) as connection:
                connection.sendall(request("CONFIG", "SET", "appendonly", "no"))
                assert connection.recv(100) == b"+OK\r\n"
                for name, number, command in CASES:
                    fastest = dict.fromkeys(PANES, float("inf"))
                    for _ in range(ROUNDS):
                        for panes in PANES:
                            time_ns = measure(server, connection, lambda: command(panes), number)
                            fastest[panes] = min(fastest[panes], time_ns)
                    ratios = ", ".join(f"{panes} panes {fastest[panes] / fastest[0]:.2f}" for panes in PANES[1:])
                    print(f"{name:<18} without {fastest[0]:7.0f} ns, {ratios}", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    main(*(str(Path(argument).resolve()) for argument in sys.argv[1:]))
