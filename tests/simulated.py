"""Workers without a device: the real loop on replayed measurements, forked, cheap to kill."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from mltune.measurement import Measurement, Status
from mltune.problem import Precision, Problem, Size, gemm
from mltune.run.database import PATIENCE_SECONDS
from mltune.run.registry import begin_study
from mltune.run.run_info import RunInfo, Timing
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store
from mltune.runner.replay import ReplayRunner
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.tuning.shared_tuning import SharedTuning
from mltune.tuning.sharing import joined, own_seed
from mltune.workflow.run_setup import new_study
from tests import devices

Ask = Callable[[str], list[Any]]

SPACE = """
name: simulated
family: tiled
about: 4,096 configs of nothing.
parameters:
  depth_u: {values: [0, 1, 2, 3, 4, 5, 6, 7]}
  thread_tile_0: {values: [0, 1, 2, 3, 4, 5, 6, 7]}
  thread_tile_1: {values: [0, 1, 2, 3, 4, 5, 6, 7]}
  loop_unroll: {values: [0, 1, 2, 3, 4, 5, 6, 7]}
"""

DEVICE = replace(devices.GPU, name="replayed", uuid="")


@dataclass(frozen=True, slots=True)
class Study:
    """A run in a shared database, on which simulated workers work."""

    url: str
    info: RunInfo


class PacedRunner(ReplayRunner):
    """Answers from records, at the speed of a device."""

    def __init__(self, info: RunInfo, device: str, seconds: float) -> None:
        super().__init__(_recorded(info.problems), info.device)
        self._name = device
        self._seconds = seconds

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        began = time.monotonic_ns()
        time.sleep(self._seconds)
        row = super().run(problem, config, to_beat=to_beat, checked=checked)
        # No two measurements are the same, as on a real device.
        seen = f"{os.getpid()} {began} {time.monotonic_ns()}"
        return replace(row, timestamp=seen, uuid=self._name)


@cache
def _recorded(problems: tuple[Problem, ...]) -> tuple[Measurement, ...]:
    chance = random.Random(0)
    return tuple(
        Measurement(
            problem=problem,
            config=config,
            family="tiled",
            kernel=f"K{config.id}",
            source_hash="0123456789abcdef",
            build_options=("-cl-mad-enable",),
            device=DEVICE.name,
            driver=DEVICE.driver_version,
            uuid="",
            status=Status.OK,
            seconds=tuple(chance.uniform(1e-4, 1.01e-4) for _ in range(7)),
            max_error=1e-7,
            error_bound=1e-5,
            compile_seconds=0.25,
        )
        for config in parse_space(SPACE, "simulated").bind({})
        for problem in problems
    )


def run_info(space_text: str, budget: int, sizes: int) -> RunInfo:
    """The options of a run with a random sampler."""
    return RunInfo(
        mltune_version="0",
        command=("simulated",),
        contraction=gemm(Precision.SINGLE),
        sizes=tuple(Size((8 * number, 8, 8)) for number in range(1, sizes + 1)),
        space="simulated",
        space_text=space_text,
        family="tiled",
        device=DEVICE,
        seed=0,
        budget=budget,
        sampler="random",
        timing=Timing(warmups=2, samples=7, build_timeout_seconds=60.0, run_timeout_seconds=30.0),
    )


def begin(url: str, budget: int, sizes: int = 2) -> Study:
    """Begin a study; this process does not work on it."""
    info = run_info(SPACE, budget, sizes)
    _recorded(info.problems)  # once, before workers are forked
    with Store(url, run=info.id) as store:
        begin_study(store, info)
    return Study(url, info)


def take_part(
    study: Study,
    device: str,
    seconds: float,
    watch: Callable[[SharedTrials], SharedTrials] = lambda shared: shared,
    time_limit_seconds: float | None = None,
) -> None:
    """Work on a study until it is concluded, as `mltune worker` does."""
    info = study.info
    space = parse_space(SPACE, "simulated").bind({})
    with (
        Store(study.url, run=info.id, patience_seconds=PATIENCE_SECONDS) as store,
        joined(info, store, device) as shared,
    ):
        tuning_study = new_study(info, space, own_seed(), ignore)
        runner = PacedRunner(info, device, seconds)
        tuning = SharedTuning(info, store, watch(shared), runner, tuning_study, ignore, ignore)
        tuning.work(time_limit_seconds)


def ignore(_: object) -> None:
    """Do nothing."""


def fork(work: Callable[[], object]) -> int:
    """Call a function in a new process; return the number of the process."""
    sys.stdout.flush()
    # otherwise garbage collection in each process would copy all memory that it visits
    gc.freeze()
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001  # this process must end here in any case
        traceback.print_exc()
    finally:
        os._exit(code)


def ended_well(number: int) -> bool:
    """Wait for a process, and return whether it ended without an error."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0


@contextmanager
def asking(url: str) -> Iterator[Ask]:
    """Ask a database in SQL, each query in its own transaction."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield lambda statement: [tuple(row) for row in connection.execute(text(statement))]


def faults(ask: Ask, study: Study, seen: set[int]) -> list[str]:
    """The mistakes in a finished study; none if mltune is right.

    Args:
        ask: queries the database of this study only.
        study: the study that was worked on.
        seen: numbers of measurements that existed at some time.
    """
    rows = ask("SELECT id, trial, phase, problem FROM mltune_measurements")
    trials = ask("SELECT number, config_id, finished FROM mltune_trials")
    leases = ask("SELECT resource, owner FROM mltune_leases")
    (run,) = ask("SELECT budget, claimed, finished, concluded FROM mltune_runs")
    budget = study.info.budget
    lost = seen - {row[0] for row in rows}
    cells = Counter((row[1], row[3]) for row in rows if row[2] == "search")
    finals = Counter((row[1], row[3]) for row in rows if row[2] == "final")
    wanted = budget * len(study.info.sizes)
    checks = {
        f"{len(lost)} measurements are lost": not lost,
        f"{len(trials)} trials instead of {budget}": len(trials) == budget,
        "a config was tried twice": len({row[1] for row in trials}) == len(trials),
        "a trial is not finished": sorted(row[2] for row in trials) == list(range(budget)),
        "a measurement was made twice": set(cells.values()) == {1},
        f"{len(cells)} cells instead of {wanted}": len(cells) == wanted,
        f"the run says {run}": run == (budget, budget, budget, True),
        "a leader was measured more than three times": max(finals.values(), default=0) <= 3,
        "no leader was measured": bool(finals),
        f"leases are left: {leases}": not leases,
        "two measured at once on one device": not _overlap(ask),
    }
    return [fault for fault, held in checks.items() if not held]


def verdict(faults: Sequence[str]) -> str:
    """The result of `faults` as text for people."""
    lines = [f"WRONG: {fault}" for fault in faults]
    summary = f"{len(faults)} checks failed" if faults else "nothing lost, nothing doubled"
    return "\n".join([*lines, summary])


def _overlap(ask: Ask) -> bool:
    """Whether two processes measured at the same time on one device."""
    spans = sorted(
        (device, int(began), int(ended), process)
        for device, timestamp in ask("SELECT uuid, timestamp FROM mltune_measurements")
        for process, began, ended in [timestamp.split()]
    )
    return any(
        first[0] == second[0] and first[3] != second[3] and second[1] < first[2]
        for first, second in pairwise(spans)
    )
