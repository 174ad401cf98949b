"""Cuts a run off and damages its files, 1,000 times, and checks that nothing is lost in silence.

    python tests/benchmarks/cuts.py --kills 300 --damages 700

A kill: a process that stores measurements, one after the other, and now and then exports them,
gets SIGKILL at a random moment. What it said to be committed must be there and unchanged, and at
most one measurement more; then another process goes on in the same folder. `kills.py` does the
same to whole searches.

A damage: a file of a finished run is cut at a random place, or loses bits, or a block of it.
Reading the run must then give every measurement as it was, or one line that names the file;
resuming it must not change the file; and what `mltune salvage` saves must be true. The exit code
is 0 when every check held.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mltune.errors import MltuneError
from mltune.files import make_folder
from mltune.measurement import Measurement
from mltune.run.carve import carve
from mltune.run.csv import export_csv, read_measurements
from mltune.run.csv_table import read_table, write_table
from mltune.run.database import DATABASE_NAME
from mltune.run.run import INFO_NAME, TABLE_NAME, Run, read_info, write_info
from mltune.run.run_info import RunInfo

_RECORDED = Path(__file__).parents[2] / "runs" / "2026-11-21-sgemm-nn-nvidia-h200"
_LOG_NAME = f"{DATABASE_NAME}-wal"
_EXPORT_EVERY = 25
_KILLS_A_FOLDER = 12
_BLOCK = 512  # what a disk loses at once


class LostError(Exception):
    """A check did not hold."""


def main() -> int:
    """Kill, damage, print two tables, and say whether all checks held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--damages", type=int, default=700)
    parser.add_argument("--rows", type=int, default=400, help="of the run that is damaged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        _write(*options.write)
        return 0
    chooser = random.Random(options.seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mltune-cuts-") as root:
        sample = Path(root) / "sample"
        _take_sample(sample, options.rows)
        try:
            _kill_often(Path(root) / "kills", sample, options.kills, chooser)
            _damage_often(Path(root) / "damages", sample, options.damages, chooser)
        except LostError as error:
            print(f"FAILED: {error}")
            return 1
    print(
        f"{options.kills} kills and {options.damages} damages, seed {options.seed}, in "
        f"{time.monotonic() - began:.0f} s: nothing lost but the measurement in flight"
    )
    return 0


def _write(folder: Path, sample: Path) -> None:
    """Store measurements for ever, and say after each how many are committed."""
    rows, info = read_measurements(sample), read_info(sample)
    with Run.resume(folder) if (folder / INFO_NAME).exists() else Run.create(folder, info) as run:
        number = run.store.count()
        while True:
            run.database.add(replace(rows[number % len(rows)], id=0))
            number += 1
            print(number, flush=True)
            if number % _EXPORT_EVERY == 0:
                export_csv(run, folder)


def _take_sample(folder: Path, count: int) -> None:
    """Return the first measurements of a shipped run, as real examples."""
    make_folder(folder)
    write_table(read_measurements(_RECORDED)[:count], folder / TABLE_NAME)
    write_info(read_info(_RECORDED), folder / INFO_NAME)


def _kill_often(root: Path, sample: Path, kills: int, chooser: random.Random) -> None:
    rows = read_measurements(sample)
    outcomes: Counter[str] = Counter()
    for number in range(kills):
        folder = root / f"run-{number // _KILLS_A_FOLDER}"
        said = _kill_once(folder, sample, chooser)
        outcomes[_check_killed(folder, said, rows)] += 1
    print("| killed while | times |\n|---|---|")
    for outcome, times in outcomes.most_common():
        print(f"| {outcome} | {times} |")
    print(flush=True)


def _kill_once(folder: Path, sample: Path, chooser: random.Random) -> int:
    """Let a writer work for a while, kill it, and return how many rows it reported."""
    earlier = len(_stored(folder))
    command = [sys.executable, __file__, "--write", str(folder), str(sample)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        first = ""
        if chooser.random() < 0.8:  # otherwise while it starts, creates or opens
            if not (first := writer.stdout.readline()):
                raise LostError(f"{folder}: the writer could not begin")
            earlier = int(first)
        time.sleep(chooser.uniform(0, 0.3 if first else 0.8))
        writer.kill()
        return max([earlier, *map(int, writer.stdout.read().split())])


def _check_killed(folder: Path, said: int, rows: Sequence[Measurement]) -> str:
    """Compare the rows with the committed ones; return what the writer was doing."""
    found = _stored(folder)
    if not said <= len(found) <= said + 1:
        raise LostError(f"{folder}: {said} rows were committed, and {len(found)} are there")
    expected = [replace(rows[n % len(rows)], id=n + 1) for n in range(len(found))]
    if found != expected:
        raise LostError(f"{folder}: a committed row is another")
    table = folder / TABLE_NAME
    exported = list(read_table(table)) if table.exists() else []
    if exported != expected[: len(exported)]:
        raise LostError(f"{table}: a row is another")
    due = len(found) // _EXPORT_EVERY * _EXPORT_EVERY
    if len(exported) < due:
        return "exporting: the older table is whole"
    if not found:
        return "nothing was stored yet"
    return "committing: it is there" if len(found) > said else "between two commits"


def _stored(folder: Path) -> Sequence[Measurement]:
    return read_measurements(folder) if (folder / INFO_NAME).exists() else []


@dataclass(frozen=True, slots=True)
class _Damage:
    """A way to damage the bytes of a file."""

    name: str
    spoil: Callable[[bytearray, random.Random], bytearray]


def _cut(data: bytearray, chooser: random.Random) -> bytearray:
    return data[: chooser.randrange(len(data))]


def _flip(data: bytearray, chooser: random.Random) -> bytearray:
    data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
    return data


def _flip_many(data: bytearray, chooser: random.Random) -> bytearray:
    for _ in range(16):
        data = _flip(data, chooser)
    return data


def _blank(data: bytearray, chooser: random.Random) -> bytearray:
    at = chooser.randrange(len(data)) // _BLOCK * _BLOCK
    size = len(data[at : at + _BLOCK])
    data[at : at + size] = bytes(size)
    return data


def _scramble(data: bytearray, chooser: random.Random) -> bytearray:
    at = chooser.randrange(len(data)) // _BLOCK * _BLOCK
    size = len(data[at : at + _BLOCK])
    data[at : at + size] = chooser.randbytes(size)
    return data


_DAMAGES = (
    _Damage("cut short", _cut),
    _Damage("one bit", _flip),
    _Damage("16 bits", _flip_many),
    _Damage("a block of zeros", _blank),
    _Damage("a block of noise", _scramble),
)
_FILES = (DATABASE_NAME, INFO_NAME, TABLE_NAME, _LOG_NAME)


def _damage_often(root: Path, sample: Path, damages: int, chooser: random.Random) -> None:
    whole = root / "whole"
    rows, info = _make_whole(whole, sample)
    outcomes: Counter[tuple[str, str, str]] = Counter()
    saved = lost = 0
    for number in range(damages):
        name, damage = _FILES[number % len(_FILES)], chooser.choice(_DAMAGES)
        folder = root / "damaged"
        shutil.copytree(whole, folder)
        if name == TABLE_NAME:
            for other in (DATABASE_NAME, _LOG_NAME):
                (folder / other).unlink()
        path = folder / name
        path.write_bytes(damage.spoil(bytearray(path.read_bytes()), chooser))
        what = f"{name}: {damage.name}, number {number}"
        outcome = _check_damaged(folder, rows, info, what)
        outcomes[name, damage.name, outcome] += 1
        if name == DATABASE_NAME and outcome == "reported":
            readable = _check_salvaged(folder, rows, what)
            saved, lost = saved + readable, lost + len(rows) - readable
        shutil.rmtree(folder)
    print("| file | damage | reported | harmless: all is read as it was |\n|---|---|---|---|")
    for name in _FILES:
        for damage in _DAMAGES:
            reported, harmless = (
                outcomes[name, damage.name, kind] for kind in ("reported", "harmless")
            )
            if reported or harmless:
                print(f"| {name} | {damage.name} | {reported} | {harmless} |")
    if saved:
        print(f"\nsalvaged of the damaged databases: {saved / (saved + lost):.1%} of their rows")


def _make_whole(folder: Path, sample: Path) -> tuple[Sequence[Measurement], RunInfo]:
    """Make a run with all its files, also the log of a killed writer."""
    with Run.create(folder, read_info(sample)) as run:
        stored = [run.database.add(replace(row, id=0)) for row in read_measurements(sample)]
        export_csv(run, folder)
        log = (folder / _LOG_NAME).read_bytes()
    (folder / _LOG_NAME).write_bytes(log)
    if _stored(folder) != stored:
        raise LostError(f"{folder}: reads back as another run")
    return stored, read_info(folder)


def _check_damaged(folder: Path, rows: Sequence[Measurement], info: RunInfo, what: str) -> str:
    """Read and resume a damaged run; return the outcome."""
    before = {name: (folder / name).read_bytes() for name in _FILES if (folder / name).exists()}
    reading = _outcome(lambda: (read_measurements(folder), read_info(folder)), rows, info, what)
    for name, data in before.items():
        if not (folder / name).exists() or (folder / name).read_bytes() != data:
            raise LostError(f"{what}: reading has changed {name}")
    if DATABASE_NAME in before:

        def resume() -> tuple[Sequence[Measurement], RunInfo]:
            with Run.resume(folder) as run:
                return run.store.measurements(), run.info

        resumed = _outcome(resume, rows, info, what)
        if "reported" in (reading, resumed):
            now = (folder / DATABASE_NAME).read_bytes()
            if resumed == "reported" and now != before[DATABASE_NAME]:
                raise LostError(f"{what}: resuming has changed {DATABASE_NAME}")
    return reading


def _outcome(
    read: Callable[[], tuple[Sequence[Measurement], RunInfo]],
    rows: Sequence[Measurement],
    info: RunInfo,
    what: str,
) -> str:
    try:
        found = read()
    except MltuneError as error:
        if "\n" in str(error):
            raise LostError(f"{what}: not one line: {error}") from error
        return "reported"
    if found != (rows, info):
        raise LostError(f"{what}: {len(found[0])} of {len(rows)} rows, or others, in silence")
    return "harmless"


def _check_salvaged(folder: Path, rows: Sequence[Measurement], what: str) -> int:
    """Return how many rows of a damaged database can be saved; their values must be right.

    The number of a row is no part of the measurement, and may be damaged like the page it is in.
    """
    try:
        carved = carve(folder / DATABASE_NAME).measurements
    except MltuneError:
        return 0
    measured = {replace(row, id=0) for row in rows}
    if any(replace(row, id=0) not in measured for row in carved):
        raise LostError(f"{what}: a salvaged row is not what was measured")
    return len(carved)


if __name__ == "__main__":
    sys.exit(main())
