"""load_rdb on files of the server, and on files with the types of servers that are not tested."""

import os
import struct
import subprocess
import sys
import threading

import pytest
import roughly
from every_type import SKETCHES, VALKEY_BLOOM, add_others, add_sketches, save

END = b"\xff" + bytes(8)


def version_of(payload):
    return int.from_bytes(payload[-10:-8], "little")


def assert_sketches_of(client, path):
    """The file has the sketches of the server, and nothing else is yielded."""
    expected = {}
    for database in (0, 1, 3):
        client.select(database)
        for key in client.keys():
            payload = client.dump(key)
            try:
                sketch = roughly.load(payload)
            except ValueError:
                continue
            expires = client.execute_command("PEXPIRETIME", key)
            dump = sketch.dump(version_of(payload))
            expected[database, key] = (None if expires == -1 else expires, dump)
    client.select(0)
    version = version_of(client.dump(client.randomkey()))
    entries = list(roughly.load_rdb(path))
    found = {(db, key): (expires, sketch.dump(version)) for db, key, expires, sketch in entries}
    assert len(entries) == len(found)
    assert found == expected
    return found


def test_the_sketches_of_a_file_are_those_of_the_server(client):
    add_sketches(client)
    add_others(client)
    client.pexpire("cuckoo", 3_600_000)
    client.select(1)
    add_sketches(client, "second:")
    client.execute_command("BF.ADD", 12345, "x")
    client.execute_command("BF.ADD", "compressible" * 50, "x")
    client.select(0)
    found = assert_sketches_of(client, save(client))
    assert len(found) == 2 * len([*SKETCHES, VALKEY_BLOOM]) + 2
    assert found[0, b"cuckoo"][0] is not None
    client.flushall()
    client.function_flush()


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu"])
def test_times_of_use_are_skipped(client, policy):
    client.config_set("maxmemory-policy", policy)
    try:
        add_sketches(client, items=3)
        client.set("string", "x")
        assert len(assert_sketches_of(client, save(client))) == 11
    finally:
        client.config_set("maxmemory-policy", "noeviction")


def test_slots_of_a_cluster_are_skipped(cluster):
    add_sketches(cluster, items=3)
    cluster.set("string", "x")
    path = save(cluster)
    keys = {key for _, key, _, _ in roughly.load_rdb(path)}
    assert keys == {key for key in cluster.keys() if key != b"string"}


def test_a_file_without_keys_yields_nothing(client):
    assert list(roughly.load_rdb(save(client))) == []


def length(number):
    return b"\x81" + struct.pack(">Q", number)


def string(text):
    return length(len(text)) + text


SEEN = roughly.BloomFilter(10)
SEEN.add("a")
# Without type and footer.
BODY = SEEN.dump()[1:-10]


def record(key=b"seen"):
    return b"\x07" + string(key) + BODY


def file(*records, header=b"REDIS0011"):
    return header + b"".join(records) + END


@pytest.fixture
def keys_in(tmp_path):
    """The keys of the sketches in a file with these bytes."""

    def keys(data):
        path = tmp_path / "dump.rdb"
        path.write_bytes(data)
        return [key for _, key, _, _ in roughly.load_rdb(path)]

    return keys


TWO = length(2)
HASH = string(b"field") + string(b"value")
OLD_ZSET = TWO + string(b"a") + b"\x031.5" + string(b"b") + b"\xff"
VALUES = {
    "sorted set with scores as text": (3, OLD_ZSET),
    "zipmap": (9, string(b"\x00\xff")),
    "ziplist": (10, string(b"bytes")),
    "intset": (11, string(b"bytes")),
    "list of ziplists": (14, TWO + 2 * string(b"bytes")),
    "first version of streams": (
        15,
        *[length(1) + string(bytes(16)) + string(b"listpack") + 3 * length(1)],
        *[length(1) + string(b"group") + 2 * length(1)],
        *[length(1) + bytes(24) + length(7)],
        *[length(1) + string(b"consumer") + bytes(8) + length(1) + bytes(16)],
    ),
    "fields with an expiry, before the release": (22, TWO + 2 * (length(9) + HASH)),
    "listpack with an expiry, before the release": (23, string(b"bytes")),
    "module": (
        7,
        *[length(1 << 40), length(1), length(5), length(2), length(6), length(3), bytes(4)],
        *[length(4), bytes(8), length(5), b"\xc3", length(4), length(9), b"LZF!", length(0)],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_old_types_are_skipped(keys_in, name):
    kind, *value = VALUES[name]
    value = bytes([kind]) + string(b"key") + b"".join(value)
    assert keys_in(file(record(b"1"), value, record(b"2"))) == [b"1", b"2"]


def test_records_around_keys_are_skipped(keys_in):
    records = [
        b"\xfa" + string(b"redis-ver") + string(b"7.0.0"),
        b"\xfe\x00\xfb" + TWO + TWO,
        b"\xf5" + string(b"#!lua name=lib"),
        b"\xf7" + length(1 << 40) + 2 * length(2) + length(5) + string(b"aux") + length(0),
        b"\xf4" + 3 * TWO,
        b"\xf9\x05\xf8" + TWO,
    ]
    assert keys_in(file(*records, record())) == [b"seen"]
    metadata = 2 * (b"1234" + length(5) + string(b"hello") + length(2) + TWO + length(0))
    metadata = b"\xf3" + TWO + metadata
    assert keys_in(file(metadata, b"\x00" + 2 * string(b"x"), metadata, record())) == [b"seen"]
    migration = b"\xf3" + string(b"name") + TWO + 4 * length(1)
    assert keys_in(file(migration, record(), header=b"VALKEY080")) == [b"seen"]


def test_expiry_in_seconds_and_milliseconds(tmp_path):
    path = tmp_path / "dump.rdb"
    data = [b"\xfd" + struct.pack("<i", 2_000_000_000) + record(b"1"), record(b"2")]
    data += [b"\xfc" + struct.pack("<q", 5) + b"\x00" + 2 * string(b"x"), record(b"3")]
    path.write_bytes(file(b"\xfe\x07", *data, b"\xfc" + struct.pack("<q", 6) + record(b"4")))
    found = [(database, key, expires) for database, key, expires, _ in roughly.load_rdb(path)]
    assert found == [(7, b"1", 2_000_000_000_000), (7, b"2", None), (7, b"3", None), (7, b"4", 6)]


def test_errors_name_the_offset(keys_in, tmp_path):
    def refused(data, text):
        path = tmp_path / "dump.rdb"
        path.write_bytes(data)
        entries = roughly.load_rdb(path)
        with pytest.raises(ValueError, match=text):
            for _, key, _, _ in entries:
                assert key == b"seen"
        assert list(entries) == []

    refused(b"", "^offset 0: the file ends early$")
    refused(b"\x1f\x8b" + bytes(20), "^offset 0: not an RDB file$")
    refused(b"REDIS+011" + END, "^offset 0: not an RDB file$")
    for end in range(9, len(file(record()))):
        refused(file(record())[:end], r"^offset \d+: (the file ends early|\d+ bytes are missing)")
    value = len(b"REDIS0011" + record())
    refused(file(record(), b"\x1f" + string(b"key")), f"^offset {value}: unknown type of value 31$")
    refused(file(record(), b"\x06" + string(b"key")), f"^offset {value}: unknown type of value 6$")
    refused(file(record(), b"\xf1"), f"^offset {value}: unknown opcode 241$")
    refused(file(b"\xf2"), "^offset 9: unknown opcode 242$")
    refused(file(b"\x00" + string(b"key") + b"\xff"), "^offset 22: 0xff is not the encoding of a")
    refused(file(b"\xfe\xc0"), "^offset 10: 0xc0 is not a length$")
    refused(file(b"\x00" + string(b"k") + length(1 << 60)), f"{1 << 60} bytes are missing at the end")
    lzf = b"\xc3" + length(2) + length(100) + b"\xff\xff"
    refused(file(b"\x07" + lzf + BODY), "^offset 10: not LZF data$")
    refused(file(record())[:-8] + b"checksum", f"^offset {value + 1}: the checksum of the file is")
    refused(file(b"\x07" + string(b"k") + length(5) + length(9)), "unknown type of module value 9")


def test_a_refused_value_names_its_key_and_the_others_follow(tmp_path):
    path = tmp_path / "dump.rdb"
    # The error rate of the first sub-filter.
    damaged = record(b"bad").replace(struct.pack("<d", 0.005), struct.pack("<d", -1))
    assert damaged != record(b"bad")
    path.write_bytes(file(damaged, record()))
    entries = roughly.load_rdb(path)
    with pytest.raises(ValueError, match=r"^offset 22: key b'bad': Bad data format"):
        next(entries)
    assert [key for _, key, _, _ in entries] == [b"seen"]


def test_files_before_version_5_have_no_checksum(keys_in):
    assert keys_in(b"REDIS0004" + record() + b"\xff") == [b"seen"]


def test_progress_reaches_the_size_of_the_file(tmp_path):
    path = tmp_path / "dump.rdb"
    path.write_bytes(file(b"\x00" + string(b"large") + string(bytes(20_000_000)), record()))
    calls = []
    assert len(list(roughly.load_rdb(path, progress=lambda *call: calls.append(call)))) == 1
    size = path.stat().st_size
    assert calls == sorted(calls) and {total for _, total in calls} == {size}
    assert calls[-1] == (size, size) and 4 <= len(calls) <= 7

    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    with pytest.raises(Stop):
        list(roughly.load_rdb(path, progress=stop))


def test_progress_true_shows_a_bar(tmp_path, capsys):
    path = tmp_path / "dump.rdb"
    path.write_bytes(file(record()))
    assert len(list(roughly.load_rdb(path, progress=True))) == 1
    assert "100%" in capsys.readouterr().err
    assert len(list(roughly.load_rdb(path, progress=False))) == 1
    assert capsys.readouterr().err == ""


def test_a_pipe_is_a_file_of_unknown_size(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = file(b"\x00" + string(b"large") + string(bytes(5_000_000)), record())
    writer = threading.Thread(target=path.write_bytes, args=[data])
    writer.start()
    calls = []
    entries = roughly.load_rdb(path, progress=lambda *call: calls.append(call))
    assert [key for _, key, _, _ in entries] == [b"seen"]
    writer.join()
    assert calls[-1] == (len(data), None)


def test_files_that_cannot_be_read_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.rdb"):
        roughly.load_rdb(tmp_path / "missing.rdb")
    with pytest.raises(IsADirectoryError):
        next(roughly.load_rdb(tmp_path))


def test_memory_is_that_of_one_value(tmp_path):
    """Neither skipped values nor the number of sketches take memory."""
    path = tmp_path / "dump.rdb"
    large = roughly.BloomFilter(1_000_000)
    body = large.dump()[1:-10]
    with open(path, "wb") as data:
        data.write(b"REDIS0011\x00" + string(b"large") + length(1 << 28))
        # A hole takes no space on the disk.
        data.seek(1 << 28, os.SEEK_CUR)
        data.write(b"\x02" + string(b"set") + length(100_000) + 100_000 * string(bytes(300)))
        for _ in range(100):
            data.write(b"\x07" + string(b"key") + body)
        data.write(END)
    program = f"""if True:
        import resource, roughly
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = peak()
        assert sum(1 for _ in roughly.load_rdb({str(path)!r})) == 100
        print(peak() - before)
    """
    run = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
    # Payload and object, and the object before it.
    assert int(run.stdout) < 4 * len(body) + 3_000_000
