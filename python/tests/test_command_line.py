"""The command line."""

import bz2
import fcntl
import gzip
import itertools
import lzma
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import roughly
from conftest import sampled
from every_type import SKETCHES, add_sketches, save
from roughly._cli import describe, main
from roughly._cli import lines as file_lines


def run(*arguments, status=0, **options):
    """The lines of standard output and of standard error."""
    command = [sys.executable, "-m", "roughly", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == status, done
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Files with lines, in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(3000)))
    # Without a line feed at the end, and with an empty line.
    (tmp_path / "b").write_text("".join(f"{number}\n\n" for number in range(2000, 3999)) + "3999")
    return ["a", "b"]


def test_bloom_filter(lines):
    out, error = run("build", "bloom", "--error", 0.001, *lines, "-o", "seen")
    assert out == []
    assert error == ["Bloom filter: capacity 5,000, error rate 0.001, 9.98 kB", "5,000 lines, seen: 9.96 kB"]
    expected = roughly.BloomFilter(5000, 0.001)
    expected.update([*range(3000), *range(2000, 4000)])
    assert roughly.open("seen").dump() == expected.dump()
    out, _ = run("inspect", "seen")
    assert out[:3] == ["seen:", "  type: BloomFilter", "  payload: 9.96 kB"]
    assert 0.00001 < rate_in(out) < 0.0005


def test_all_parameters_are_printed(lines):
    for name, sketch in {
        "bloom": roughly.BloomFilter(100, 0.002, window=60_000, panes=6),
        "digest": roughly.TDigest(window=60_000, panes=6, finest=1000),
    }.items():
        sketch.save(name)
        out, _ = run("inspect", name)
        finest = "10,000" if name == "bloom" else "1,000"
        for line in ("window in milliseconds: 60,000", "panes: 6", f"finest pane in milliseconds: {finest}"):
            assert f"  {line}" in out
        assert ("  error rate: 0.002" in out) == (name == "bloom")


def test_standard_input(lines):
    run("build", "bloom", "-o", "seen", input="x\n", status=1)
    run("build", "bloom", "--capacity", 10, "--nonscaling", "-o", "seen", input="x\n\ny")
    assert "x" in roughly.open("seen") and len(roughly.open("seen")) == 2
    run("build", "cms", "-", "a", "-o", "counts", input="7\n")
    assert list(roughly.open("counts").query([7, 8])) == [2, 1]


def test_the_other_types(lines):
    _, error = run("build", "topk", "-k", 3, *lines, "-o", "top")
    assert error[0] == "top-k: k 3, width 30, depth 5, 1.32 kB"
    assert roughly.open("top").info()["width"] == 30
    _, error = run("build", "cms", "--error", 0.01, "--probability", 0.1, *lines, "-o", "cms")
    assert error[0].startswith("count-min sketch: width 200, depth 4, estimates too high by at most 0.01 of all counts with a")
    _, error = run("build", "cuckoo", "a", "-o", "cuckoo")
    assert error[0].startswith("cuckoo filter: 8,192 slots, error rate at most 0.016, ")
    assert roughly.open("cuckoo").info()["Number of filters"] == 1
    _, error = run("build", "tdigest", *lines, "-o", "digest")
    assert error[0].startswith("t-digest: compression 100, at most ")
    digest = roughly.open("digest")
    assert digest.min() == 0 and digest.max() == 3999 and digest.info()["Observations"] == 5000
    out, _ = run("inspect", "top", "cms", "cuckoo", "digest")
    assert [line for line in out if line.startswith("  type")] == [
        f"  type: {name}" for name in ("TopK", "CountMinSketch", "CuckooFilter", "TDigest")
    ]
    assert "  fill: 0.366" in out


@pytest.mark.parametrize("count", [0, 1, 4])
def test_default_capacities_of_few_lines(lines, count):
    Path("few").write_text("".join(f"{number}\n" for number in range(count)))
    for kind in (["bloom"], ["cuckoo"], ["cuckoo", "--bucket-size", 1], ["cuckoo", "--bucket-size", 255]):
        run("build", *kind, "few", "-o", "seen")
        assert len(roughly.open("seen")) == count


def rate_in(out):
    """The rate that `inspect` prints."""
    title = "  false positive rate: "
    return float(next(line for line in out if line.startswith(title)).removeprefix(title))


def test_inspect_prints_how_wrong_each_type_is(client):
    """The figures of SKETCH.ACCURACY."""
    add_sketches(client)
    url = f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}"
    out, _ = run("inspect", *(f"{url}/0/{name}" for name in [*SKETCHES, "valkey"]))
    described = "\n".join(out).split("\n\n")
    assert len(described) == 11
    for name, text in zip([*SKETCHES, "valkey"], described):
        for field, value in roughly.from_redis(client, name).accuracy().items():
            shown = f"{value:.3g}" if isinstance(value, float) else f"{value:,}"
            assert f"\n  {field}: {shown}" in text, (name, text)


def test_merge(lines):
    run("build", "tdigest", "a", "-o", "one")
    run("build", "tdigest", "b", "-o", "two")
    run("merge", "one", "two", "-o", "both")
    expected = roughly.open("one")
    expected.merge(roughly.open("two"))
    assert roughly.open("both").dump() == expected.dump()
    run("build", "topk", "a", "-o", "top")
    assert run("merge", "one", "top", "-o", "x", status=1)[1] == ["roughly: top: TopK, but one: TDigest"]
    roughly.CuckooFilter().save("cuckoo")
    assert "cannot be merged" in run("merge", "cuckoo", "cuckoo", "-o", "x", status=1)[1][0]


def test_merge_of_full_filters_needs_allow_rate(lines):
    for name, first in (("one", 0), ("two", 1000)):
        filter = roughly.BloomFilter(1000)
        filter.update(range(first, first + 1000))
        filter.save(name)
    _, error = run("merge", "one", "two", "-o", "both", status=1)
    assert re.fullmatch(r"roughly: cannot merge: the false positive rate would be [.\d]+, above .* or use --allow-rate [.\d]+", error[-1])
    assert not Path("both").exists()
    run("merge", "one", "two", "-o", "both", *error[-1].split()[-2:])
    assert roughly.open("both").contains(range(2000)).all()
    roughly.TopK(3).save("top")
    _, error = run("merge", "top", "top", "--allow-rate", 0.1, "-o", "both", status=1)
    assert error[-1] == "roughly: --allow-rate is for Bloom filters"


def test_counts_that_overflow_are_errors(lines):
    top = roughly.TopK(3)
    top.update({"x": 2**32 - 1})
    top.save("top")
    _, error = run("merge", "top", "top", "-o", "both", status=1)
    assert error == ["roughly: TopK: a count would exceed 4,294,967,295"] and not Path("both").exists()


@pytest.mark.parametrize("error", [ValueError, TypeError, OverflowError, MemoryError, OSError])
def test_exceptions_of_the_methods_are_messages(error, monkeypatch, capsys):
    """Of the table of docs/python.md. `KeyError` of `from_redis` has a message of its own."""

    def run(arguments):
        raise error("the reason")

    monkeypatch.setattr(describe, "run", run)
    assert main(["inspect", "seen"]) == 1
    assert capsys.readouterr() == ("", "roughly: the reason\n")


def test_a_full_disk_leaves_the_output_as_it_was(lines):
    """The limit of a file's size stands for the disk."""
    roughly.BloomFilter(10).save("seen")
    before, files = Path("seen").read_bytes(), sorted(os.listdir())

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for command in (["build", "bloom", *lines], ["merge", "large", "large"]):
        if command[0] == "merge":
            roughly.BloomFilter(10_000).save("large")
            files.insert(files.index("seen"), "large")
        _, error = run(*command, "-o", "seen", status=1, preexec_fn=limit)
        assert error[-1] == "roughly: seen: File too large"
        assert Path("seen").read_bytes() == before and sorted(os.listdir()) == files


def test_restore_and_inspect_a_key(client, lines):
    url = f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}"
    run("build", "bloom", "a", "-o", "seen")
    run("restore", "seen", f"{url}/2", "a/b", "--ttl", 90)
    client.select(2)
    assert 80_000 < client.pttl("a/b") <= 90_000
    assert client.execute_command("BF.EXISTS", "a/b", 7) == 1
    _, error = run("restore", "seen", f"{url}/2", "a/b", status=1)
    assert error == ["roughly: a/b: BUSYKEY Target key name already exists."]
    run("restore", "seen", f"{url}/2", "a/b", "--replace")
    assert client.pttl("a/b") == -1
    for ttl in ("0", "0.0001", "-1", "inf", "nan", "x"):
        _, error = run("restore", "seen", url, "a/b", "--ttl", ttl, status=2)
        assert error[-1].endswith(f"argument --ttl: {ttl} is no number of at least 0.001")
    out, _ = run("inspect", f"{url}/2/a/b")
    assert out[1:] == run("inspect", "seen")[0][1:]
    assert run("inspect", f"{url}/2/none", status=1)[1][0].endswith("/2/none: the key does not exist")
    client.select(0)


def test_rdb(client, tmp_path):
    add_sketches(client)
    client.pexpireat("cms", 4_102_444_800_000)
    client.execute_command("BF.ADD", "tab\tand\nline", "x")
    out, error = run("rdb", save(client))
    assert error == []
    rows = {row[1]: row for row in (line.split("\t") for line in out)}
    assert set(rows) == {*SKETCHES, "valkey", "tab\\tand\\nline"} and len(out) == 12
    assert rows["cms"][:4] == ["0", "cms", "CountMinSketch", "2100-01-01T00:00:00+00:00"]
    assert rows["bloom"][2:4] == ["BloomFilter", "-"]
    assert rows["cms"][4] == "width: 200, depth: 3, count: 300"
    for name, row in rows.items():
        assert ("window in milliseconds: 3,600,000, panes: 12, finest pane in milliseconds: 300,000" in row[4]) == (
            "window" in name
        )
        assert ("error rate: " in row[4]) == (row[2] == "BloomFilter")
    (tmp_path / "bad").write_bytes(b"REDIS0011\xf1")
    assert run("rdb", tmp_path / "bad", status=1)[1] == [f"roughly: {tmp_path}/bad: offset 9: unknown opcode 241"]


def test_errors_and_exit_statuses(lines):
    run(status=2)
    run("build", "bloom", "a", status=2)
    assert run("inspect", "missing", status=1)[1] == ["roughly: missing: No such file or directory"]
    assert run("inspect", "a", status=1)[1][0].startswith("roughly: a: DUMP payload version or checksum are wrong")
    assert run("build", "bloom", "--error", 2, "a", "-o", "x", status=1)[1][0].startswith("roughly: ")
    Path("bad").write_text("1\n2\n\nx\n5\n")
    _, error = run("build", "tdigest", "a", "bad", "-o", "x", status=1)
    assert error[-1] == "roughly: bad, line 4: could not convert string to float: b'x'"
    _, error = run("build", "bloom", "--capacity", 5, "--nonscaling", "a", "-o", "x", status=1)
    assert error[-1] == "roughly: a: non scaling filter is full"
    assert run("--version")[0] == [f"roughly {roughly.__version__}"]
    assert run("restore", "a", "localhost", "key", status=1)[1][0].startswith("roughly: localhost is not the URL")


@pytest.mark.parametrize("is_installed", [True, False], ids=["with tqdm", "without tqdm"])
def test_progress_is_shown_on_a_terminal_with_tqdm(lines, is_installed):
    ours, theirs = pty.openpty()
    # The bar is as wide as the terminal.
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 25, 80, 0, 0))
    prepare = "" if is_installed else "sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None; "
    command = f"import sys; {prepare}from roughly._cli import main; main(['build', 'bloom', 'a', '-o', 'seen'])"
    with subprocess.Popen([sys.executable, "-c", command], stderr=theirs) as process:
        process.wait()
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert process.returncode == 0 and "3,000 lines, seen" in shown
    for title in ("counting lines: ", "reading: "):
        assert (title in shown) == is_installed


COMPRESSED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
TEXT_FILES = itertools.product(COMPRESSED, [b"\n", b"\r\n"], [b"", b"\xef\xbb\xbf"])


@pytest.mark.parametrize("compression, end, mark", sampled(TEXT_FILES, 5))
def test_text_files_of_other_systems_have_the_same_lines(lines, compression, end, mark):
    """Files of more than one block, also on standard input, with and without a line end at the end."""
    items = [f"user:{number}" for number in range(120_000)]
    text = mark + end.join(item.encode() for item in items)
    expected = roughly.BloomFilter(120_000)
    expected.update(items)
    for content in (text, text + end):
        Path("file").write_bytes(COMPRESSED[compression](content))
        run("build", "bloom", "file", "-o", "seen")
        assert roughly.open("seen") == expected
        with open("file", "rb") as file:
            run("build", "bloom", "--capacity", 120_000, "-o", "seen", stdin=file)
        assert roughly.open("seen") == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bytes_of_a_long_line_are_processed_once(lines, monkeypatch, end):
    """The number of bytes that methods of `bytes` process is at most a multiple of the length of the line."""
    monkeypatch.setattr(file_lines, "_BLOCK_BYTES", 100)
    items = [b"x", b"\xef\xbb\xbf" + bytes(50_001), b"y", bytes(99), bytes(100), b"", bytes(20_000)]
    content = b"\xef\xbb\xbf" + end.join(items)
    Path("file").write_bytes(content)
    processed = 0

    def profile(frame, event, called):
        nonlocal processed
        if event == "c_call" and isinstance(getattr(called, "__self__", None), bytes):
            processed += len(called.__self__)

    sys.setprofile(profile)
    try:
        batches = list(file_lines.batches(["file"]))
    finally:
        sys.setprofile(None)
    assert [line for _, _, batch in batches for line in batch] == items
    assert [number for _, number, _ in batches] == list(itertools.accumulate((len(batch) for *_, batch in batches[:-1]), initial=1))
    assert len(content) <= processed <= 4 * len(content)


def test_a_byte_order_mark_is_no_line(lines):
    for mark, expected in ((b"\xef\xbb\xbf", []), (b"\xef\xbb", [b"\xef\xbb"]), (2 * b"\xef\xbb\xbf", [b"\xef\xbb\xbf"])):
        for end in (b"", b"\n"):
            Path("file").write_bytes(mark + end)
            found = [line for _, _, batch in file_lines.batches(["file"]) for line in batch if line]
            assert found == expected


def test_a_pipe_is_read_only_once(lines):
    os.mkfifo("pipe")
    for kind in ("bloom", "cuckoo"):
        for name, shown in (("-", "standard input"), ("pipe", "pipe"), ("/dev/stdin", "/dev/stdin")):
            _, error = run("build", kind, name, "-o", "seen", status=1, input="1\n2\n")
            assert error == [f"roughly: {shown} is read only once: specify --capacity"] and not Path("seen").exists()
        _, error = run("build", kind, "--capacity", 10, "/dev/stdin", "-o", "seen", input="1\n2\n")
        assert error[-1].startswith("2 lines, ")
        Path("seen").unlink()


def test_a_carriage_return_elsewhere_is_part_of_the_line(lines):
    Path("file").write_bytes(b"a\rb\n\rc\r\r\nd\r")
    run("build", "bloom", "file", "-o", "seen")
    seen = roughly.open("seen")
    assert len(seen) == 3 and all(item in seen for item in (b"a\rb", b"\rc\r", b"d\r"))


@pytest.mark.parametrize("start", [b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff"])
def test_files_of_other_formats_are_refused(lines, start):
    Path("file").write_bytes(start + bytes(100))
    _, error = run("build", "bloom", "--capacity", 10, "file", "-o", "seen", status=1)
    assert error[-1].startswith("roughly: file is ") and not Path("seen").exists()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_compressed_files_are_errors(lines, compress):
    whole = compress(b"".join(b"%d\n" % number for number in range(1000)))
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 255
    for content in (whole[:-5], bytes(changed)):
        Path("file").write_bytes(content)
        _, error = run("build", "bloom", "--capacity", 1000, "file", "-o", "seen", status=1)
        assert error[-1].startswith("roughly: file: ") and not Path("seen").exists()


def test_the_installed_program_is_the_module(lines):
    program = os.path.join(os.path.dirname(sys.executable), "roughly")
    run("build", "bloom", "a", "-o", "seen")
    done = subprocess.run([program, "inspect", "seen"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == run("inspect", "seen")[0]


def test_series(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}"
    for command in (
        "TDIGEST.CREATE t WINDOW 3600000",
        "TDIGEST.ADD t 1 2 3",
        "CMS.INITBYDIM c 100 3 WINDOW 3600000",
        "CMS.INCRBY c a,b 7",
        "CMS.INITBYDIM large 100 3 CELL_SIZE 8 WINDOW 3600000",
        "CMS.INCRBY large a 9007199254740993",
        "TOPK.RESERVE k 12 100 3 0.9 WINDOW 3600000",
        "TDIGEST.CREATE empty",
        "BF.RESERVE b 0.01 100 WINDOW 3600000",
    ):
        client.execute_command(*command.split())
    for item, count in [(b"\xff", 30), *((f"page {number}", number) for number in range(1, 13))]:
        client.execute_command("TOPK.INCRBY", "k", item, count)
    step = ["--step", "100d"]
    start = r"20[0-9-]{8}T[0-9:]{8}\.000\+00:00"
    for command, columns, row in (
        ("t TDIGEST.QUANTILE 0.5 1", "0.5,1", "2,3"),
        ("t tdigest.max", "tdigest.max", "3"),
        ("t TDIGEST.RANK -5 2", "-5,2", "-1,1"),
        ("c CMS.QUERY a,b", '"a,b"', "7"),
        ("large CMS.QUERY a", "a", "9007199254740993"),
        ("k TOPK.COUNT \\xff", "\\xff", "0"),
    ):
        for protocol in ("", "?protocol=2", "?protocol=3"):
            out, error = run("series", url + protocol, *command.split(), *step, "--last", "30m")
            assert error == [] and out[0] == f"start,covered,{columns}"
            assert re.fullmatch(rf"{start},[0-9]+,{row}", out[-1]), out
    accuracy = [run("series", url + protocol, "t", "SKETCH.ACCURACY", *step)[0] for protocol in ("?protocol=2", "?protocol=3")]
    for out in accuracy:
        row = dict(zip(out[0].split(","), out[-1].split(",")))
        assert row["samples"] == "3" and float(row["rank error p99"]) < 1
    # The name of an item is a column.
    out, _ = run("series", url, "k", "TOPK.LIST", *step)
    assert out[0].split(",")[:4] == ["start", "covered", "\\xff", "page 12"] and out[-1].split(",")[2:4] == ["30", "12"]
    assert len(out[0].split(",")) == 14
    assert run("series", url, "k", "TOPK.LIST", *step, "--csv", "k.csv", "--plot", "k.svg") == ([], [])
    assert Path("k.csv").read_text().splitlines()[0] == out[0]
    drawn = Path("k.svg").read_text()
    # Ten of the twelve items.
    assert "page 4" in drawn and "page 3" not in drawn and "k: TOPK.LIST (UTC)" in drawn
    run("series", url, "t", "TDIGEST.MIN", *step, "--plot", "t.png")
    assert Path("t.png").read_bytes().startswith(b"\x89PNG")
    for arguments, text in (
        ([url, "missing", "TDIGEST.MIN", *step], "missing: no rows: the key does not exist, or its window is empty"),
        (["file", "t", "TDIGEST.MIN", *step], "file is not the URL of a server: redis://HOST[:PORT][/DB]"),
        ([url, "empty", "TDIGEST.MIN", *step], "empty: the key has no window"),
        ([url, "t", "TDIGEST.MIN", *step, "--plot", "t.text"], "Format 'text' is not supported"),
        ([url, "t", "TDIGEST.MIN", *step, "--csv", "no/t.csv"], "no/t.csv: No such file or directory"),
        ([url, "b", "BF.CARD", *step], "b: a filter stores only the last addition of an item"),
    ):
        out, error = run("series", *arguments, status=1)
        assert out == [] and len(error) == 1 and error[0].startswith(f"roughly: {text}"), error
    for arguments in (["t", "TDIGEST.MIN", "--step", "1"], ["t", "TDIGEST.MIN"], ["t", *step]):
        run("series", url, *arguments, status=2)


def test_closed_standard_streams(client, lines):
    add_sketches(client)
    key = [f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}", "tdigest:window"]
    step = ["TDIGEST.MIN", "--step", "1h"]

    def run_without(*closed, arguments, status=0):
        return run(*arguments, status=status, preexec_fn=lambda: [os.close(each) for each in closed])

    build = ["build", "topk", "-o", "top"]
    for arguments in (build, [*build, "a", "-"]):
        assert run_without(0, arguments=arguments, status=1)[1][-1] == "roughly: standard input is closed"
        assert not Path("top").exists()
    for closed in ([0], [1], [2], [0, 1, 2]):
        for arguments in ([*build, "a"], ["build", "bloom", "a", "-o", "seen"], ["merge", "top", "top", "-o", "both"]):
            out, error = run_without(*closed, arguments=arguments)
            assert out == [] and bool(error) == (2 not in closed and arguments[0] == "build")
        run_without(*closed, arguments=["series", *key, *step, "--csv", "table"])
    for arguments in (["inspect", "top"], ["rdb", save(client)], ["series", *key, *step]):
        assert run_without(0, 2, arguments=arguments)[0][0] == run(*arguments)[0][0]
        assert run_without(1, arguments=arguments, status=1) == ([], ["roughly: standard output is closed"])
    assert run_without(2, arguments=["merge", "missing", "-o", "x"], status=1) == ([], [])


def test_a_chart_needs_matplotlib(tmp_path):
    """Which is no dependency of the package."""
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('No module named matplotlib')")
    arguments = ["series", "redis://127.0.0.1:1", "k", "TDIGEST.MIN", "--step", "1h", "--plot", "k.svg"]
    _, error = run(*arguments, status=1, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert error == ["roughly: the Python package matplotlib is required for a chart: pip install matplotlib"]
