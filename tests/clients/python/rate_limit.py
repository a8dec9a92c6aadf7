"""Runs the middleware of docs/recipes/rate-limiting.md in uvicorn: on a port and on a Unix socket, with a server that hangs, that is
stopped, that lost the key, and that was started again.

    python tests/clients/python/rate_limit.py

Environment: ROUGHLY_SERVER is the server program, and ROUGHLY_MODULE the module (both required).
"""

import atexit
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import redis

PAGE = pathlib.Path("docs/recipes/rate-limiting.md")
APP = """
import rate_limit

started = []

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            started.append(message["type"])
            await send({"type": message["type"] + ".complete"})
    body = ",".join(started).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]})
    await send({"type": "http.response.body", "body": body})

def limited(timeout=60, **options):
    return rate_limit.RateLimit(app, rate_limit.connect(timeout=timeout, port=PORT), limit=10, **options)

opened = limited()
closed = limited(fail_open=False)
proxied = limited(proxies=1)
hasty, strict = limited(3), limited(3, fail_open=False)
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(is_true):
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.05)


def replies(port):
    with contextlib.suppress(redis.RedisError):
        return redis.Redis(port=port).ping()
    return False


@contextlib.contextmanager
def server(port, directory):
    arguments = ["--port", str(port), "--save", "", "--dir", directory, "--loadmodule", os.environ["ROUGHLY_MODULE"]]
    process = subprocess.Popen([os.environ["ROUGHLY_SERVER"], *arguments], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: replies(port))
        yield process
    finally:
        process.kill()
        process.wait()


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


class Site:
    """The application in uvicorn."""

    def __init__(self, name, directory, unix=False):
        self.address = os.path.join(directory, f"{name}.sock") if unix else free_port()
        options = ["--uds", self.address] if unix else ["--port", str(self.address)]
        command = [sys.executable, "-m", "uvicorn", f"app:{name}", "--log-level", "warning", "--lifespan", "on", *options]
        self.process = subprocess.Popen(command, cwd=directory)
        atexit.register(self.process.kill)
        wait_until(self.is_ready)

    def is_ready(self):
        assert self.process.poll() is None, "uvicorn has ended"
        with contextlib.suppress(OSError):
            self.connection().connect()
            return True
        return False

    def connection(self):
        if isinstance(self.address, str):
            return UnixConnection(self.address, timeout=60)
        return http.client.HTTPConnection("127.0.0.1", self.address, timeout=60)

    def get(self, **headers):
        connection = self.connection()
        connection.request("GET", "/", headers=headers)
        reply = connection.getresponse()
        body = reply.read().decode()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, body

    def status(self, number, **headers):
        return [self.get(**headers)[0] for _ in range(number)]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) in (0, -signal.SIGTERM)


def main():
    section = PAGE.read_text().split("## ASGI middleware\n", 1)[1]
    lines = section.split("```python\n", 1)[1].split("```", 1)[0]
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "rate_limit.py").write_text(lines)
        pathlib.Path(directory, "app.py").write_text(APP.replace("PORT", str(port)))
        with server(port, directory) as process:
            opened, closed = Site("opened", directory), Site("closed", directory)
            proxied = Site("proxied", directory, unix=True)
            hasty, strict = Site("hasty", directory), Site("strict", directory)
            client = redis.Redis(port=port)

            # The application was started, the missing key is created, and every reply has the header.
            status, headers, body = opened.get()
            assert (status, body) == (200, "lifespan.startup"), (status, body)
            assert headers["x-app"] == "1" and headers["ratelimit"] == '"default";r=9;t=60', headers
            assert client.exists("limit:10:3600")
            assert opened.status(12) == [200] * 9 + [429] * 3
            _, headers, _ = opened.get()
            assert headers["ratelimit"] == '"default";r=0;t=60' and headers["retry-after"] == "60", headers

            # Clients behind a proxy; the first address is one that a client sent itself.
            forwarded = {"X-Forwarded-For": "192.0.2.9, 2001:db8::1"}
            assert proxied.status(11, **forwarded) == [200] * 10 + [429]
            assert proxied.status(1, **{"X-Forwarded-For": "192.0.2.1, 2001:db8::2"}) == [429]
            assert proxied.status(1, **{"X-Forwarded-For": "2001:db8:0:1::1"}) == [200]
            # Without an address, all clients have one limit.
            assert proxied.status(11) == [200] * 10 + [429]

            # A deleted key is created again.
            client.delete("limit:10:3600")
            assert opened.status(11) == [200] * 10 + [429]

            # A server that hangs: each request has the answer of the option, and few of them wait for the time-out.
            process.send_signal(signal.SIGSTOP)
            start = time.monotonic()
            assert hasty.status(20) == [200] * 20
            assert strict.status(20) == [503] * 20
            assert "ratelimit" not in hasty.get()[1]
            assert time.monotonic() - start < 41 * 3
            process.send_signal(signal.SIGCONT)
            wait_until(lambda: hasty.get()[0] == 429)
            wait_until(lambda: strict.get()[0] == 429)

        # Without a server, and with a new one.
        assert opened.status(2) == [200] * 2 and closed.status(2) == [503] * 2
        with server(port, directory):
            wait_until(lambda: "ratelimit" in opened.get()[1])
            wait_until(lambda: closed.get()[0] != 503)
            assert redis.Redis(port=port).exists("limit:10:3600")
            # The server becomes a replica: it refuses writes.
            redis.Redis(port=port).replicaof("127.0.0.1", 1)
            wait_until(lambda: closed.get()[0] == 503)
            redis.Redis(port=port).replicaof("NO", "ONE")
            wait_until(lambda: closed.get()[0] != 503)
        for site in (opened, closed, proxied, hasty, strict):
            site.stop()
    print("  rate limit in uvicorn")


if __name__ == "__main__":
    main()
