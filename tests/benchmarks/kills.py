"""Kills `mltune search` at random moments, resumes it, and checks that nothing is lost.

    python tests/benchmarks/kills.py --kills 20 --budget 40 --sizes tiny

Only the command itself gets SIGKILL; its worker has to notice. Before every kill the rows that
are committed are noted, and all of them must be there afterwards. Every second kill comes some
time after the command's first row, however long its start takes. A resumed search may measure
further sizes of the latest trial alone. At the end the run must hold exactly the budget, and no
trial twice. `guided`, the default sampler, leaves sizes out where a trial cannot win; with another
one every trial must be whole. When a run ends before its kill comes, another one begins. The exit
code is 0 when every check held.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mltune.measurement import Measurement
from mltune.run.run import INFO_NAME, Run
from mltune.tuning.search_options import DEFAULT_SAMPLER
from mltune.tuning.trial import Trial, group_trials

_WORKER_SECONDS = 5.0


class LostError(Exception):
    """A check did not hold."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: the committed rows before it, and the rows after it."""

    number: int
    after_seconds: float
    rows_before: int
    rows_after: int
    trials: int
    taken_up: int
    worker: str


def main() -> int:
    """Kill and resume, print a table, and say whether all checks held."""
    options = _options()
    chooser = random.Random(options.seed)
    root = options.folder or Path(tempfile.mkdtemp(prefix="mltune-kills-"))
    print(f"{options.kills} kills, seed {options.seed}, in {root}")
    print("kill  after s  rows before  rows after  trials  taken up  worker")
    kills = runs = 0
    try:
        while kills < options.kills:
            runs += 1
            folder = root / f"run-{runs}"
            while kills < options.kills:
                delay = chooser.uniform(options.shortest, options.longest)
                kill = _kill_once(options, folder, kills + 1, delay)
                if kill is None:
                    break
                kills += 1
                print(
                    f"{kill.number:4}  {kill.after_seconds:7.2f}  {kill.rows_before:11}  "
                    f"{kill.rows_after:10}  {kill.trials:6}  {kill.taken_up:8}  {kill.worker}",
                    flush=True,
                )
            rows = _finish(options, folder)
            print(f"{folder.name}: ended with {options.budget} trials, {rows} measurements")
    except LostError as error:
        print(f"FAILED: {error}")
        return 1
    print(f"{kills} kills in {runs} run(s): no committed row lost, no trial twice, no worker left")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--sizes", default="tiny")
    parser.add_argument("--space")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sampler", default=DEFAULT_SAMPLER)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shortest", type=float, default=0.2, help="seconds before a kill")
    parser.add_argument("--longest", type=float, default=4.0, help="seconds before a kill")
    parser.add_argument("--folder", type=Path, help="for the runs (default: a temporary one)")
    return parser.parse_args()


def _command(options: argparse.Namespace, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "mltune", "search", "--run", str(folder), "--quiet"]
    if (folder / INFO_NAME).exists():
        return [*command, "--resume"]
    command += ["--budget", str(options.budget), "--sizes", options.sizes]
    command += ["--device", options.device, "--sampler", options.sampler]
    return [*command, "--space", options.space] if options.space else command


def _kill_once(
    options: argparse.Namespace, folder: Path, number: int, delay: float
) -> Kill | None:
    """Start or resume a run, kill it after a while, and check it; None if it ended before."""
    earlier = _rows(folder)
    process = subprocess.Popen(_command(options, folder), stdout=subprocess.DEVNULL)
    if number % 2:
        while process.poll() is None and _count(folder) == len(earlier):
            time.sleep(0.05)
    try:
        code = process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        pass
    else:
        if code:
            raise LostError(f"{folder}: the command ended with exit code {code}")
        return None
    before = _rows(folder)
    workers = _children(process.pid)
    process.kill()
    process.wait()
    after = _rows(folder)
    if earlier != before[: len(earlier)] or before != after[: len(before)]:
        raise LostError(f"{folder}: a committed row is gone or changed")
    if [row.id for row in after] != list(range(1, len(after) + 1)):
        raise LostError(f"{folder}: the rows' numbers have a gap")
    taken_up = _taken_up(folder, earlier, after)
    deadline = time.monotonic() + _WORKER_SECONDS
    while left := [pid for pid in workers if _runs(pid)]:
        if time.monotonic() > deadline:
            raise LostError(f"the worker {left[0]} outlives its parent")
        time.sleep(0.05)
    return Kill(
        number=number,
        after_seconds=delay,
        rows_before=len(before),
        rows_after=len(after),
        trials=len({row.trial for row in after}),
        taken_up=taken_up,
        worker="gone" if workers else "none yet",
    )


def _finish(options: argparse.Namespace, folder: Path) -> int:
    """Let a run end, and return how many measurements it has."""
    earlier = _rows(folder)
    command = [*_command(options, folder), "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise LostError(f"{folder}: resuming ended with exit code {answer.returncode}: "
                        f"{answer.stderr}")  # fmt: skip
    rows = _rows(folder)
    if earlier != rows[: len(earlier)]:
        raise LostError(f"{folder}: resuming lost or changed a row")
    trials = group_trials(row for row in rows if row.phase == "search")
    if len(trials) != options.budget or json.loads(answer.stdout)["trials"] != options.budget:
        raise LostError(f"{folder}: {len(trials)} trials, asked for {options.budget}")
    if len({trial.config for trial in trials}) != len(trials):
        raise LostError(f"{folder}: a config was tried twice")
    measured = Counter((row.config, row.problem) for row in rows if row.phase == "search")
    if max(measured.values()) > 1:
        raise LostError(f"{folder}: a size was measured twice in one trial")
    _taken_up(folder, earlier, rows)
    if options.sampler != DEFAULT_SAMPLER and _parts(folder, trials):
        raise LostError(f"{folder}: a trial lacks measurements at the end")
    return len(rows)


def _count(folder: Path) -> int:
    """Return how many rows there are, by SQLite alone: to open a `Run` takes far more time."""
    with (
        contextlib.suppress(sqlite3.OperationalError),  # no file, or no table yet
        contextlib.closing(
            sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)
        ) as database,
    ):
        (count,) = database.execute("SELECT count(*) FROM mltune_measurements").fetchone()
        return int(count)
    return 0


def _rows(folder: Path) -> Sequence[Measurement]:
    if not (folder / INFO_NAME).exists():
        return []
    with Run.open(folder) as run:
        return run.store.measurements()


def _taken_up(folder: Path, earlier: Sequence[Measurement], rows: Sequence[Measurement]) -> int:
    """Return how many trials of earlier rows have later ones, which only the latest may have."""
    known = [row.trial for row in earlier if row.phase == "search"]
    later = {row.trial for row in rows[len(earlier) :] if row.phase == "search"}
    if not (taken_up := later & {*known}) <= {*known[-1:]}:
        raise LostError(
            f"{folder}: trials {sorted(taken_up)} were taken up, not {known[-1]} alone"
        )
    return len(taken_up)


def _parts(folder: Path, trials: Sequence[Trial]) -> int:
    """Return how many trials lack a size without a failed measurement."""
    with Run.open(folder) as run:
        problems = run.info.problems
    return sum(bool(trial.missing(problems)) for trial in trials)


def _children(pid: int) -> list[int]:
    """Return the running child processes of a process, of all its threads."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def _runs(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
