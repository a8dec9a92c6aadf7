#!/usr/bin/env python3
"""CPU time of commands on sketches with a window, divided by that without a window.

    benches/windows.py SERVER MODULE    for example: target/servers/redis-7.0/server target/release/libroughly.so

Prints the fastest of five rounds for windows whose 12 or 60 panes all have items, and for count-min sketches of a month with panes of one
second and longer that contain 500 items: once each (few), or in all 242 panes (many). The time is that of the server's main thread (/proc/PID/schedstat).
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
MONTH_S = 30 * 86_400
ITEMS = 500
ROUNDS = 5
END = b"$3\r\nEND\r\n"


def request(*words):
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def items(number, known=1_000_000):
    return [f"item:{random.randrange(known)}" for _ in range(number)]


def pairs(number, known=1_000_000):
    return [word for item in items(number, known) for word in (item, 1)]


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


def month():
    """Sketches of a month. Clients cannot choose the pane of an item."""
    now = time.time_ns() // 1_000_000_000
    everything = [word for item in range(ITEMS) for word in (f"item:{item}", 1)]
    few = ((now - MONTH_S + number * MONTH_S // ITEMS, [f"item:{number}", 1]) for number in range(1, ITEMS))
    # A window of a month in 12 panes has panes of up to 2^17 seconds.
    ages = {age << level for level in range(18) for age in range(27)}
    many = ((now - age, everything) for age in sorted(ages, reverse=True) if age < MONTH_S)
    yield request("CMS.INITBYDIM", "month0", 2000, 7)
    yield request("CMS.INCRBY", "month0", *everything)
    for key, increments in (("few", few), ("many", many)):
        yield request("CMS.INITBYDIM", f"month{key}", 2000, 7, "WINDOW", MONTH_S * 1000, "FINEST", 1000)
        for unit, words in increments:
            yield request("SKETCH.ADVANCE", f"month{key}", unit)
            yield request("CMS.INCRBY", f"month{key}", *words)


MONTH_CASES = (
    ("CMS.QUERY", 60_000, lambda key: ["CMS.QUERY", f"month{key}", *items(1, ITEMS)]),
    ("CMS.QUERY ×20", 20_000, lambda key: ["CMS.QUERY", f"month{key}", *items(20, ITEMS)]),
    ("CMS.INCRBY", 60_000, lambda key: ["CMS.INCRBY", f"month{key}", *pairs(1, ITEMS)]),
    ("CMS.INCRBY ×20", 20_000, lambda key: ["CMS.INCRBY", f"month{key}", *pairs(20, ITEMS)]),
)

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
        Path(directory, "appendonly.aof").write_bytes(b"".join((*append_only_file(), *month())))
        options = ["--port", str(PORT), "--save", "", "--dir", directory, "--appendonly", "yes", "--appendfsync", "no"]
        server = subprocess.Popen([program, *options, "--loadmodule", module], stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            with socket.create_connection(("127.0.0.1", PORT)) as connection:
                connection.sendall(request("CONFIG", "SET", "appendonly", "no"))
                assert connection.recv(100) == b"+OK\r\n"
                for cases, keys, unit in ((CASES, PANES, " panes"), (MONTH_CASES, (0, "few", "many"), " items")):
                    for name, number, command in cases:
                        fastest = dict.fromkeys(keys, float("inf"))
                        for _ in range(ROUNDS):
                            for key in keys:
                                time_ns = measure(server, connection, lambda: command(key), number)
                                fastest[key] = min(fastest[key], time_ns)
                        ratios = ", ".join(f"{key}{unit} {fastest[key] / fastest[0]:.2f}" for key in keys[1:])
                        print(f"{name:<18} without {fastest[0]:7.0f} ns, {ratios}", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    main(*(str(Path(argument).resolve()) for argument in sys.argv[1:]))
