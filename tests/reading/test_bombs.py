"""Small files that unpack to huge ones are refused before they are unpacked or built."""

import gzip
import io
import random
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mltune.compat.foreign import read_recording
from mltune.errors import UsageError
from mltune.kernel.handwritten.read import read_files
from mltune.problem.size_file import read_size_file
from mltune.reading import parse_json, read_packed
from mltune.run.csv_table import read_table
from mltune.selector.json import read_selector
from mltune.space.load import load_space
from mltune.workflow.exchange import import_files

MOST_BYTES = 250 * 2**20
RESET_PEAK = Path("/proc/self/clear_refs")


def packed(head: bytes, unit: bytes, tail: bytes, count: int) -> bytes:
    """Repeated text, gzipped without ever being in memory as a whole."""
    memory = io.BytesIO()
    block = unit * (2**20 // len(unit))
    with gzip.GzipFile(fileobj=memory, mode="wb", compresslevel=1, mtime=0) as file:
        file.write(head)
        for _ in range(count // len(block)):
            file.write(block)
        file.write(tail)
    return memory.getvalue()


RECORDS = {
    "zeros": (b"", b"\0", b""),
    "bundle": (b'{"format": "mltune bundle", "rows": [0', b",[]", b"]}"),
    "Kernel Tuner": (b'{"tune_params_keys":["x"],"cache":{"a":{}', b',"1":{"x":1}', b"}}"),
    "T4": (b'{"results":[0', b',{"configuration":{"x":1}}', b"]}"),
    "CLBlast": (b'{"kernel_family":"x","results":[0', b',{"time":1}', b"]}"),
    "depth": (b'{"cache":', b"[", b""),
    "T1": (b'{"ConfigurationSpace":{"TuningParameters":[0', b",{}", b"]}}"),
    "YAML": (b"a: [", b"a,", b"]"),
    "YAML in depth": (b"a: ", b"[", b""),
}


def refused(read: Callable[[], object]) -> str:
    """The one line of the refusal, which took little memory."""
    with most_memory() as most, pytest.raises(UsageError) as caught:
        read()
    assert most[0] < MOST_BYTES
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextmanager
def most_memory() -> Iterator[list[int]]:
    """The bytes by which this process grew at most, counted by Linux, or else by Python."""
    most: list[int] = []
    if RESET_PEAK.exists():
        RESET_PEAK.write_text("5")
        before = peak_bytes()
        yield most
        most.append(peak_bytes() - before)
        return
    tracemalloc.start()
    try:
        yield most
        most.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def peak_bytes() -> int:
    """The most memory of this process since the peak was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "megabytes"),
    # Beyond the limit, the unpacked size makes no difference.
    [*((kind, 14) for kind in RECORDS), ("zeros", 150), ("bundle", 150)],
)
def test_a_packed_bomb_is_refused(kind: str, megabytes: int, tmp_path: Path) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(packed(*RECORDS[kind], megabytes * 2**20))

    message = refused(lambda: import_files([file], tmp_path / "out"))

    assert "bomb.json.gz" in message
    if megabytes == 150:
        assert "unpacks to more than" in message


@pytest.mark.parametrize("kind", ["bundle", "Kernel Tuner", "T4", "CLBlast"])
def test_a_dense_text_is_refused(kind: str, tmp_path: Path) -> None:
    head, unit, tail = RECORDS[kind]
    file = tmp_path / "dense.json"
    file.write_bytes(head + unit * (15 * 2**20 // len(unit)) + tail)

    refused(lambda: import_files([file], tmp_path / "out"))


def test_a_table_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "measurements.csv.gz"
    file.write_bytes(packed(b"id,phase\n", b"1,final\n", b"", 150 * 2**20))

    assert "unpacks to more than" in refused(lambda: read_table(file))


@pytest.mark.long
def test_a_large_description_of_kernels_is_read_or_refused_at_once(tmp_path: Path) -> None:
    entry = '{"name": "abc", "type": 12}'
    start = '{"name": "x", "type": "single", "transA": "N", "transB": "N", "dj": ['
    (tmp_path / "many.json").write_text(start + f"{entry},\n" * 200_000 + "0]}")
    (tmp_path / "deep.json").write_text(start + "[" * 1_000_000)

    many = refused(lambda: read_files([tmp_path / "many.json"]))
    deep = refused(lambda: read_files([tmp_path / "deep.json"]))

    assert "many.json:33332: not JSON: more than 100,000 values" in many
    assert "deep.json:1: not JSON: nested too deeply" in deep


@pytest.mark.long
def test_yaml_beyond_the_limits_is_refused(tmp_path: Path) -> None:
    laughs = "a: &a [x]\n" + "".join(f"b{n}: [*a, *a]\n" for n in range(9))
    for name, text, words in (
        ("laughs", laughs, "aliases are not supported"),
        ("merge", "- &a {m: 1}\n- {<<: *a}\n", "aliases are not supported"),
        ("flow", "a: [" + "b," * 300_000 + "]", "more than 250,000 values"),
        ("depth", "{a: " * 100_000, "nested too deeply"),
        ("size", "#" * (17 * 2**20), "larger than 16 MiB"),
    ):
        file = tmp_path / f"{name}.yaml"
        file.write_text(text)
        assert words in refused(lambda file=file: load_space(str(file)))  # type: ignore[misc]
        with pytest.raises(UsageError, match=words):
            read_size_file(file)


@pytest.mark.long
def test_yaml_may_have_many_values_if_it_has_the_text(tmp_path: Path) -> None:
    def sizes(count: int) -> Path:
        file = tmp_path / "sizes.yaml"
        file.write_text("- [64, 64, 1, 64]\n" * count)
        return file

    assert read_size_file(sizes(60_000))[0].count == 60_000  # 300,000 values
    with pytest.raises(UsageError, match=r"line 200000: not YAML \(more than 1,000,000 values\)"):
        read_size_file(sizes(250_000))


def test_a_selector_with_many_fields_is_refused_at_once(tmp_path: Path) -> None:
    fields = ",".join(f'"k{number}":0' for number in range(100_000))
    (tmp_path / "s.json").write_text(f'{{{fields},"k99999":0}}')

    message = refused(lambda: read_selector(tmp_path / "s.json"))

    assert "field 'k99999' stands twice" in message


def test_what_is_dense_but_small_and_what_is_large_but_thin_is_read(tmp_path: Path) -> None:
    assert len(parse_json("[" + "[]," * 100_000 + "0]")) == 100_001
    row = '{"configuration": {"tile": %d}, "measurements": [{"name": "time", "value": 1.5}]}'
    rows = ",\n".join(row % number for number in range(20_000))
    (tmp_path / "t4.json.gz").write_bytes(gzip.compress(f'{{"results": [{rows}]}}'.encode()))

    assert len(read_recording(tmp_path / "t4.json.gz").points) == 20_000


def test_a_large_file_may_unpack_to_many_times_its_size(tmp_path: Path) -> None:
    part = random.Random(0).randbytes(2**15) + bytes(2**20)
    (tmp_path / "large").write_bytes(gzip.compress(part * 20, compresslevel=1))

    data, damage = read_packed(tmp_path / "large")

    assert (data == part * 20, damage) == (True, "")
    (tmp_path / "small").write_bytes(gzip.compress(bytes(10 * 2**20)))
    assert read_packed(tmp_path / "small") == (bytes(10 * 2**20), "")


def test_a_file_of_many_members_is_read_in_one_go(tmp_path: Path) -> None:
    row = b'"1,2": {"x": 1, "y": 2, "time": 3.5},\n'
    (tmp_path / "rows.gz").write_bytes(gzip.compress(row) * 30_000)

    began = time.process_time()
    data, damage = read_packed(tmp_path / "rows.gz")

    assert time.process_time() - began < 3  # with a copy of the rest for each member, 8
    assert (data == row * 30_000, damage) == (True, "")


def test_what_is_cut_off_or_padded_is_still_read_as_far_as_it_goes(tmp_path: Path) -> None:
    members = map(gzip.compress, (b"first ", b"", b"second"))
    (tmp_path / "whole").write_bytes(b"".join(members) + b"\0" * 100)
    (tmp_path / "plain").write_bytes(b"first second")
    (tmp_path / "cut").write_bytes(gzip.compress(b"first " * 1000)[:-12])

    assert read_packed(tmp_path / "plain") == (b"first second", "")
    assert read_packed(tmp_path / "whole") == (b"first second", "")
    data, damage = read_packed(tmp_path / "cut")
    assert data.startswith(b"first ")
    assert damage == "cut off within its gzip data, the rest is left out"
    first, second = gzip.compress(b"first "), bytearray(gzip.compress(b"second"))
    second[-8] ^= 1  # its checksum
    (tmp_path / "damaged").write_bytes(first + second)
    data, damage = read_packed(tmp_path / "damaged")
    assert data == b"first "
    assert re.fullmatch(r"damaged gzip data \(.*\), the rest is left out", damage)
