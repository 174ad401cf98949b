"""`mltune report`: computes the content of the page from a recorded run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import Any

import numpy as np

from mltune.distil import TimeTable, distil, fit_best
from mltune.distil.fit import Settings
from mltune.distil.portfolio import cover
from mltune.distil.traffic import memory_of
from mltune.errors import MltuneError, UsageError
from mltune.files import file_error, write_atomically
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.measurement import Measurement, Phase, Status
from mltune.report import Content, Selection, TrialPoint, render
from mltune.report.content import Model
from mltune.run.digest import digest
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.search.names import is_sampler
from mltune.shell import command
from mltune.tuning.final_selection import choose
from mltune.tuning.progress import Show, Steps, ignore_progress
from mltune.tuning.resumed_run import resuming
from mltune.tuning.trial import Trial, group_trials, values_over_all_sizes
from mltune.workflow.expected_times import rule_table
from mltune.workflow.gain import shares_of_roofline
from mltune.workflow.learning import learn
from mltune.workflow.memory import remembered
from mltune.workflow.protocol import PROTOCOL_NAME
from mltune.workflow.protocol import SAMPLER as PROTOCOL
from mltune.workflow.recorded import calls
from mltune.workflow.report_against import against
from mltune.workflow.report_details import gain, sources

REPORT_NAME = "report.html"

_MOST_CURVE = 16


@dataclass(frozen=True, slots=True)
class ReportResult:
    """The report's file, its size, and the next command."""

    path: Path
    bytes: int
    next_command: str

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {"report": str(self.path), "bytes": self.bytes}


def report(
    folder: Path,
    output: Path | None,
    show: Show = ignore_progress,
    *,
    other: Path | None = None,
) -> ReportResult:
    """Write the report of a run; nothing is measured, and the run is not changed.

    Args:
        folder: of the run.
        output: the file to write; None for `report.html` in the folder.
        show: called with the progress.
        other: the folder of a run to compare it with.

    Raises:
        UsageError: when the run cannot be read, or the report cannot be written there.
    """
    Steps("read", show)(0, 1)
    state = digest(folder) + (digest(other) if other else "")
    path = output or folder / REPORT_NAME
    hint = "; give a file elsewhere with -o" if output is None else ""
    _check_place(path, hint)  # the next steps may take minutes
    page = remembered(_page, "show")(state, folder, folder.resolve().name, other, show=show)
    try:
        write_atomically(path, page.data)
    except UsageError as error:
        raise UsageError(f"{error}{hint}") from error
    return ReportResult(path, len(page.data), page.next_command)


@dataclass(frozen=True, slots=True)
class _Page:
    """The page, and the next command."""

    data: bytes
    next_command: str


def _page(state: str, folder: Path, name: str, other: Path | None, *, show: Show) -> _Page:
    """Make the page of a run; `state` is a part of the cache's key."""
    with Run.open(folder) as run:
        rows = tuple(run.store.measurements())
        # Before the slow steps, as it may be of another problem type.
        beside = against(run.info, rows, other) if other else None
        content = _content(folder, name, run.info, rows, show)
    content = replace(content, against=beside)
    return _Page(render(content).encode(), content.next_command)


def _check_place(path: Path, hint: str) -> None:
    reason = ENOENT if not path.parent.is_dir() else EISDIR if path.is_dir() else 0
    if reason:
        error = file_error(path, "write", OSError(reason, os.strerror(reason)))
        raise UsageError(f"{error}{hint}")


def _content(
    folder: Path,
    name: str,
    info: RunInfo,
    measurements: tuple[Measurement, ...],
    show: Show,
) -> Content:
    info, sound = info.measured_on(row.problem for row in measurements), _sound(measurements)
    selection = _selection(info, sound, show)
    model = learn(sound, info.device, show)
    content = _measured(folder, name, info, measurements, selection, model)
    return replace(
        content,
        # a protocol may have rows of its last step only
        trials=content.trials or _points(group_trials(sound)),
        next_command=_next_command(folder, info, measurements, selection),
    )


def _portfolio(selection: Selection | str) -> tuple[str, ...]:
    if isinstance(selection, str):
        return ()
    return tuple(kernel.name for kernel in selection.selector.portfolio)


def live_content(
    folder: Path, info: RunInfo, measurements: tuple[Measurement, ...], refresh_seconds: int
) -> Content:
    """Return the content for a running search: no model and no choice, as these take long.

    Args:
        folder: of the run.
        info: of the run.
        measurements: so far.
        refresh_seconds: after which a browser reloads the page.
    """
    later = "While a search runs this is left out; mltune report without --live has it."
    info = info.measured_on(row.problem for row in measurements)
    name = f"{folder.resolve().name}, live"
    content = _measured(folder, name, info, measurements, later, later)
    return replace(content, refresh_seconds=refresh_seconds)


def _measured(
    folder: Path,
    name: str,
    info: RunInfo,
    measurements: tuple[Measurement, ...],
    selection: Selection | str,
    model: Model | str,
) -> Content:
    """Return the content with a selection and a model, or why there are none."""
    sound = _sound(measurements)
    searched = (row for row in measurements if row.phase == Phase.SEARCH)
    chosen = choose(sound)
    best = tuple(chosen[problem].best for problem in info.cross_problems if problem in chosen)
    return Content(
        name=name,
        info=info,
        measurements=measurements,
        trials=_points(group_trials(searched)),
        best=best,
        model=model,
        selection=selection,
        next_command=command("mltune", "report", folder),
        replay_command=command("mltune", "replay", folder),
        gain=gain(info, sound, best),
        of_peak=shares_of_roofline(best, info.device),
        sources=sources(info, best, _portfolio(selection)),
    )


def _sound(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return what the stages learn from; disturbed measurements are in the table only."""
    return tuple(row for row in measurements if row.phase != Phase.DISTURBED)


def _points(trials: Sequence[Trial]) -> tuple[TrialPoint, ...]:
    values = values_over_all_sizes(trials)
    problems = {row.problem for trial in trials for row in trial.measurements}
    flops = math.fsum(math.log(problem.flops) for problem in problems) / max(len(problems), 1)
    points = []
    for trial in trials:
        value, failure = values.get(trial.number), trial.failure
        gflops = None if value is None else math.exp(flops - value) / 1e9
        status = failure.status if failure else Status.OK
        points.append(TrialPoint(trial.number, trial.config, gflops, status))
    return tuple(points)


def _next_command(
    folder: Path, info: RunInfo, rows: Sequence[Measurement], selection: Selection | str
) -> str:
    if isinstance(selection, Selection):
        return command("mltune", "distil", folder)
    if not info.contraction.is_gemm and choose(rows):
        return command("mltune", "source", folder)
    failed = next((row for row in rows if row.status is not Status.OK), None)
    if failed:
        return command("mltune", "replay", folder, str(failed.id))
    if is_sampler(info.sampler):
        return resuming(folder, info)
    if info.sampler == PROTOCOL:  # its file is in the folder of all its problem types
        root = folder if (folder / PROTOCOL_NAME).exists() else folder.parent
        return command("mltune", PROTOCOL, root / PROTOCOL_NAME, "--resume", "--run", root)
    return command("mltune", info.sampler, "--resume", "--run", folder)


def _selection(info: RunInfo, measurements: Sequence[Measurement], show: Show) -> Selection | str:
    """Distil, and return each rule's regret on each size by a fit without that size."""
    if info.family == HANDWRITTEN:
        return "A selector cannot ship hand-written kernels, so none is chosen."
    if not info.contraction.is_gemm:
        return "A selector chooses by M, N and K of a GEMM; this is another contraction."
    try:
        table = rule_table(measurements, [info]).called(calls([info]))
    except MltuneError as error:
        return f"No kernel can be chosen from this run: {error}."
    distilled = distil(
        table,
        info.contraction,
        compute_units=info.device.compute_units,
        memory=memory_of(info.device, info.contraction),
        on_step=Steps("fit", show),
        fit=remembered(fit_best, "on_step"),  # as `mltune distil` does
    )
    return Selection(
        selector=distilled.selector,
        portfolio_curve=tuple(_curve(table)),
        sizes=tuple(size.label for size in table.sizes),
        losses=tuple((row.rule, tuple(np.expm1(row.losses).tolist())) for row in distilled.rows),
    )


def _curve(table: TimeTable) -> list[tuple[int, float]]:
    """Return kernels and loss, up to the number where a further kernel covers no further size."""
    curve: list[tuple[int, float]] = []
    for most in range(1, min(_MOST_CURVE, len(table.kernels)) + 1):
        chosen = cover(table, tolerance=Settings().tolerance, max_kernels=most)
        if not curve or len(chosen) > curve[-1][0]:
            best = table.log_ratios[:, list(chosen)].min(axis=1)
            curve.append((len(chosen), float(np.expm1(best.mean()))))
    return curve
