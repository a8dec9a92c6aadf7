"""A server with the module, for all tests."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
import redis

ROOT = Path(__file__).resolve().parents[2]


def cases(count):
    """The number of random cases: a quarter of them in .ci/run, which sets ROUGHLY_SAMPLE_SEED."""
    return count // 4 if "ROUGHLY_SAMPLE_SEED" in os.environ else count


def program():
    """The server program: ROUGHLY_SERVER, or the one on the PATH."""
    given = os.environ.get("ROUGHLY_SERVER")
    return given or shutil.which("redis-server") or shutil.which("valkey-server")


@contextlib.contextmanager
def running(directory, *arguments):
    """A client of a new server with the module and these arguments. DUMP does not compress strings."""
    port = 65535
    # A cluster uses the port 10,000 above it, too.
    while port > 55535:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
    built = ROOT / "target" / os.environ.get("ROUGHLY_PROFILE", "checks") / "libroughly.so"
    module = os.environ.get("ROUGHLY_MODULE", built)
    options = ["--save", "", "--rdbcompression", "no", "--loadmodule", str(module)]
    command = [program(), *arguments, "--port", str(port), "--dir", str(directory), *options]
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    client = redis.Redis(port=port, protocol=2, socket_timeout=600)
    try:
        while True:
            try:
                client.ping()
                break
            except redis.RedisError:
                assert process.poll() is None, (directory / "log").read_text()
                time.sleep(0.05)
        yield client
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A client of the server that most tests share."""
    with running(tmp_path_factory.mktemp("server")) as client:
        yield client


@pytest.fixture
def start_server(tmp_path):
    """Starts a server with arguments that stops after the test."""
    with contextlib.ExitStack() as servers:
        yield lambda *arguments: servers.enter_context(running(tmp_path, *arguments))


@pytest.fixture
def client(server):
    """A client of the server, whose database is empty."""
    server.select(0)
    server.flushall()
    return server
