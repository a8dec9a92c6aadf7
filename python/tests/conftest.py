"""A server with the module, for all tests."""

import collections
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

#: A time of a clocked server in Unix milliseconds.
START = 1_700_000_000_000

#: The number that selects the samples of the tests in .ci/run. Otherwise, all cases run.
SAMPLE_SEED = os.environ.get("ROUGHLY_SAMPLE_SEED")


def cases(count):
    """The number of random cases: an eighth of them in .ci/run."""
    return count // 8 if SAMPLE_SEED else count


def sampled(cases, parts):
    """The cases, each of which takes long: in .ci/run, one in so many, which the date selects (tests/support/sample.rs)."""
    if not SAMPLE_SEED:
        return list(cases)
    return [case for number, case in enumerate(cases) if (number + int(SAMPLE_SEED)) % parts == 0]


def write_or_compare(path, text):
    """Compares a file of the documentation; with ROUGHLY_WRITE set, writes it."""
    if os.environ.get("ROUGHLY_WRITE"):
        path.write_text(text)
    assert path.read_text() == text, f"{path} differs: `make pages` writes it"


#: Only the files of tests that use a server run.
ONLY_SERVERS = bool(os.environ.get("ROUGHLY_ONLY_SERVERS"))


def pytest_collection_modifyitems(items):
    if ONLY_SERVERS:
        servers = {"server", "clocked_server", "cluster_server", "cluster_nodes"}
        files = {item.path for item in items if servers & {*item.fixturenames}}
        items[:] = [item for item in items if item.path in files]


processor_seconds = collections.Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Counts the processor time of each file, with that of programs that have ended."""
    before = sum(os.times()[:4])
    result = yield
    processor_seconds[item.path.name] += sum(os.times()[:4]) - before
    return result


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("processor seconds")
    for name, seconds in processor_seconds.most_common():
        terminalreporter.write_line(f"{seconds:6.1f} {name}")


def debug_build():
    """Builds the module with debug assertions and the example damaged-payloads, and returns their directory. With the packages of
    `cargo test-all`, the crates have the same features, so that `make test` has compiled them."""
    packages = ["roughly", "roughly-dump", "roughly-models", "roughly-sketch"]
    targets = [f"--package={package}" for package in packages] + ["--lib", "--example=damaged-payloads"]
    subprocess.run(["cargo", "build", "--quiet", "--profile=test", *targets], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


def program():
    """The server program: ROUGHLY_SERVER, or the one on the PATH."""
    given = os.environ.get("ROUGHLY_SERVER")
    return given or shutil.which("redis-server") or shutil.which("valkey-server")


def free_ports(count):
    """Different ports on which nothing listens. Another program can take one before the caller uses it."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]


def is_ready(client, process):
    """Waits for a server. False if it has ended, or another server uses its port."""
    while process.poll() is None:
        with contextlib.suppress(redis.RedisError):
            return client.info("server")["process_id"] == process.pid
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def running(directory, *arguments, module=None):
    """A client of a new server with the module and these arguments. DUMP does not compress strings."""
    built = ROOT / "target" / os.environ.get("ROUGHLY_PROFILE", "checks") / "libroughly.so"
    module = module or os.environ.get("ROUGHLY_MODULE", built)
    options = ["--save", "", "--rdbcompression", "no", "--dir", str(directory), "--loadmodule", str(module)]
    for _ in range(5):
        port, cluster_port = free_ports(2)
        ports = ["--port", str(port)]
        if "--cluster-enabled" in arguments:
            ports += ["--cluster-port", str(cluster_port)]
        with open(directory / "log", "wb") as log:
            process = subprocess.Popen([program(), *arguments, *ports, *options], stdout=log, stderr=log)
        client = redis.Redis(port=port, protocol=2, socket_timeout=600)
        try:
            if is_ready(client, process):
                yield client
                return
        finally:
            process.kill()
            process.wait()
        text = (directory / "log").read_text()
        assert "already in use" in text, text
    raise AssertionError("no free port")


class Server:
    """A server with the module in a build with debug assertions, whose clock the tests set."""

    def __init__(self, directory, client):
        self.directory, self.client = directory, client

    def at(self, ms, *command):
        """The reply to a command at a time after START."""
        self.set_clock(START + ms)
        return self.client.execute_command(*command)

    def set_clock(self, unix_ms):
        new = self.directory / "new-clock"
        new.write_text(str(unix_ms))
        new.rename(self.directory / "roughly-clock")


@pytest.fixture(scope="session")
def clocked_server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("clocked")
    with running(directory, module=debug_build() / "libroughly.so") as client:
        yield Server(directory, client)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A client of the server that most tests share."""
    with running(tmp_path_factory.mktemp("server")) as client:
        yield client


@pytest.fixture(scope="session")
def cluster_server(tmp_path_factory):
    """A client of a cluster of one node, which accepts arguments of at most 1 MB."""
    options = ["--cluster-enabled", "yes", "--proto-max-bulk-len", str(1 << 20)]
    with running(tmp_path_factory.mktemp("cluster"), *options) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
            time.sleep(0.05)
        yield client


@contextlib.contextmanager
def running_cluster(directory, count):
    """Clients of the nodes of a new cluster. A node that ends does not stop the others."""
    options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no"]
    with contextlib.ExitStack() as stack:
        nodes = []
        for number in range(count):
            (directory / str(number)).mkdir()
            node = stack.enter_context(running(directory / str(number), *options))
            node.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", 16384 * number // count, 16384 * (number + 1) // count - 1)
            for other in nodes:
                bus = node.config_get("cluster-port")["cluster-port"]
                other.execute_command("CLUSTER", "MEET", "127.0.0.1", node.get_connection_kwargs()["port"], bus)
            nodes.append(node)
        expected = {b"cluster_state:ok", b"cluster_slots_assigned:16384", b"cluster_known_nodes:%d" % count}
        while not all(expected <= {*node.execute_command("CLUSTER", "INFO").split()} for node in nodes):
            time.sleep(0.05)
        yield nodes


@pytest.fixture(scope="session")
def cluster_nodes(tmp_path_factory):
    """Clients of the nodes of a cluster of three."""
    with running_cluster(tmp_path_factory.mktemp("nodes"), 3) as nodes:
        yield nodes


@pytest.fixture
def nodes(cluster_nodes):
    """Clients of the nodes of a cluster of three, which is empty."""
    for node in cluster_nodes:
        node.flushall()
    return cluster_nodes


@pytest.fixture
def cluster(cluster_server):
    """A client of the cluster, which is empty."""
    cluster_server.flushall()
    return cluster_server


@pytest.fixture
def client(server):
    """A client of the server, whose database is empty."""
    server.select(0)
    server.flushall()
    return server
