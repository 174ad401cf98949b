"""Tables of calls, as `interpose.c` writes them, and the times that follow from them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import problem_type_name
from mltune.trace import Seen, read_tables

READY, WRITING = 2, 1
CBLAS, BLAS, CLBLAST, CLBLAS = 1, 2, 3, 4
ROW_MAJOR = 0x80
NO_TRANSPOSE, TRANSPOSE, CONJUGATE = 111, 112, 113


def entry(
    *counted: int,
    sampled: int = 0,
    state: int = READY,
    interface: int = CBLAS,
    precision: str = "s",
    trans: tuple[int, int] = (NO_TRANSPOSE, NO_TRANSPOSE),
    size: tuple[int, int, int] = (2, 3, 4),
) -> bytes:
    """An entry; `counted` are the calls, and the nanoseconds of the first, the next and others."""
    first = interface | ord(precision) << 8 | trans[0] << 16 | trans[1] << 24 | 1 << 32
    m, n, k = size
    return struct.pack("<IIQQQQQQQ", state, sampled, first, m | n << 32, k, *counted)


def read(
    folder: Path, *entries: bytes, lost: int = 0, failed: int = 0, wait: bool = False
) -> Seen:
    header = struct.pack("<8sIIQQQ24x", b"MLTRACE1", len(entries), 64, 7, lost, failed)
    (folder / "7-0.table").write_bytes(header + b"".join(entries))
    return read_tables(folder, waited=wait)


@pytest.mark.parametrize(
    ("counted", "sampled", "seconds"),
    [
        ((1, 5000, 0, 0), 0, 5e-6),
        ((2, 5000, 300, 0), 0, 2 * 300e-9),  # the first call may have set things up
        ((16, 5000, 15 * 200, 0), 0, 16 * 200e-9),
        ((1000, 5000, 15 * 200, 5 * 100), 5, 1000 * (15 * 200 + 5 * 100) / 20 * 1e-9),
        ((9000, 5000, 15 * 200, 16 * 100), 16, 9000 * 100e-9),  # enough with warm caches
    ],
)
def test_the_time_of_all_calls_follows_from_those_that_were_timed(
    tmp_path: Path, counted: tuple[int, ...], sampled: int, seconds: float
) -> None:
    (calls,) = read(tmp_path, entry(*counted, sampled=sampled)).calls

    assert calls.size.count == counted[0]
    assert calls.seconds == pytest.approx(seconds)


def test_calls_on_a_device_have_a_time_only_if_it_was_waited_for(tmp_path: Path) -> None:
    on_device = entry(1, 5000, 0, 0, interface=CLBLAST)

    assert read(tmp_path, on_device).calls[0].seconds is None
    assert read(tmp_path, on_device, wait=True).calls[0].seconds == pytest.approx(5e-6)


@pytest.mark.parametrize(
    ("interface", "precision", "trans", "name", "extents"),
    [
        (CBLAS, "s", (NO_TRANSPOSE, CONJUGATE), "cblas sgemm_nt", (2, 3, 4)),
        (CBLAS, "z", (TRANSPOSE, CONJUGATE), "cblas zgemm_tc", (2, 3, 4)),
        (CBLAS | ROW_MAJOR, "d", (TRANSPOSE, NO_TRANSPOSE), "cblas dgemm_nt", (3, 2, 4)),
        (BLAS, "z", (ord("t"), ord("C")), "blas zgemm_tc", (2, 3, 4)),
        (BLAS, "d", (ord("R"), ord("r")), "blas dgemm_nn", (2, 3, 4)),  # OpenBLAS's conjugates
        (CLBLAS, "z", (1, 2), "clblas zgemm_tc", (2, 3, 4)),
        (CLBLAS, "z", (0, 1), "clblas zgemm_nt", (2, 3, 4)),
    ],
)
def test_a_call_is_that_of_a_column_major_product(
    tmp_path: Path,
    interface: int,
    precision: str,
    trans: tuple[int, int],
    name: str,
    extents: tuple[int, ...],
) -> None:
    made = entry(1, 1, 0, 0, interface=interface, precision=precision, trans=trans)

    (calls,) = read(tmp_path, made).calls

    assert f"{calls.interface} {problem_type_name(calls.contraction)}" == name
    assert calls.size.extents == extents


def test_what_is_no_call_is_left_out_and_counted_where_it_was_one(tmp_path: Path) -> None:
    seen = read(
        tmp_path,
        entry(0, 0, 0, 0),
        entry(5, 1, 1, 0, state=WRITING),
        entry(6, 1, 1, 0, size=(2, 0, 4)),
        entry(7, 1, 1, 0, size=(2, 3, 2**31)),
        entry(8, 1, 1, 0, size=(2, 3, 2**31 - 1)),
        lost=3,
        failed=4,
    )

    assert [calls.size.count for calls in seen.calls] == [8]
    assert (seen.processes, seen.skipped, seen.lost, seen.failed) == (1, 6 + 7, 3, 4)


def test_a_table_that_is_cut_off_is_refused_and_an_unfinished_one_skipped(tmp_path: Path) -> None:
    (tmp_path / "8-0.table").write_bytes(bytes(1000))
    assert read(tmp_path, entry(1, 1, 0, 0)).processes == 1

    file = tmp_path / "7-0.table"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"7-0.table: is no table of calls$"):
        read_tables(tmp_path, waited=False)
