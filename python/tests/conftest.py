"""A server with the module, for all tests."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
import redis

ROOT = Path(__file__).resolve().parents[2]


def program():
    """The server program: ROUGHLY_SERVER, or the one on the PATH."""
    given = os.environ.get("ROUGHLY_SERVER")
    return given or shutil.which("redis-server") or shutil.which("valkey-server")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A client of an empty server. DUMP does not compress strings."""
    directory = tmp_path_factory.mktemp("server")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    module = os.environ.get("ROUGHLY_MODULE", ROOT / "target/release/libroughly.so")
    options = ["--save", "", "--rdbcompression", "no", "--loadmodule", str(module)]
    command = [program(), "--port", str(port), "--dir", str(directory), *options]
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


@pytest.fixture
def client(server):
    """A client of the server, whose database is empty."""
    server.select(0)
    server.flushall()
    return server
