"""`mltune report`: a recorded run goes through the stages, and what they give onto one page."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import Any

import numpy as np

from mltune.cost_model import BoostedModel, fit
from mltune.cost_model.scores import score
from mltune.device_info import DeviceInfo
from mltune.distil import TimeTable, distil
from mltune.distil.fit import Settings, folds
from mltune.distil.portfolio import cover
from mltune.errors import MltuneError, UsageError
from mltune.files import file_error, write_atomically
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.problem import Problem
from mltune.record import Measurement, Status
from mltune.record.run import Run
from mltune.record.run_info import RunInfo
from mltune.report import Content, Model, Selection, TrialPoint, render
from mltune.space import Config
from mltune.workflow.finale import SIDELINED
from mltune.workflow.progress import Phase, Show, nobody_looks
from mltune.workflow.recorded import calls
from mltune.workflow.trials import Trial, best_by_problem, group_trials, values_over_all_sizes

REPORT_NAME = "report.html"

_FOLDS = 4
_MOST_CURVE = 16
_MOST_SHUFFLED = 5_000


@dataclass(frozen=True, slots=True)
class ReportResult:
    """Where the report lies, how large it is, and what to do next."""

    path: Path
    bytes: int
    next_command: str

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {"report": str(self.path), "bytes": self.bytes}


def report(folder: Path, output: Path | None, show: Show = nobody_looks) -> ReportResult:
    """Write the report of a run; nothing is measured, and the run is not changed.

    Args:
        folder: of the run.
        output: the file to write; None for `report.html` in the folder.
        show: takes the progress.

    Raises:
        UsageError: when the run cannot be read, or the report cannot be written there.
    """
    Phase("read", show)(0, 1)
    with Run.open(folder) as run:
        info, measurements = run.info, tuple(run.store.measurements())
    path = output or folder / REPORT_NAME
    hint = "; give a file elsewhere with -o" if output is None else ""
    _check_place(path, hint)  # what follows may take minutes
    content = _content(folder, info, measurements, show)
    data = render(content).encode()
    try:
        write_atomically(path, data)
    except UsageError as error:
        raise UsageError(f"{error}{hint}") from error
    return ReportResult(path, len(data), content.next_command)


def _check_place(path: Path, hint: str) -> None:
    reason = ENOENT if not path.parent.is_dir() else EISDIR if path.is_dir() else 0
    if reason:
        error = file_error(path, "write", OSError(reason, os.strerror(reason)))
        raise UsageError(f"{error}{hint}")


def _content(
    folder: Path, info: RunInfo, measurements: tuple[Measurement, ...], show: Show
) -> Content:
    # What something else slowed down is shown in the table, and taught to nobody.
    sound = tuple(row for row in measurements if row.phase != SIDELINED)
    searched = [row for row in measurements if row.phase == "search"]
    trials = group_trials(searched or sound)  # a protocol may have nothing but its last step
    found = best_by_problem(sound)
    best = tuple(found[problem] for problem in info.cross_problems if problem in found)
    selection = _selection(info, sound, show)
    return Content(
        name=folder.resolve().name,
        info=info,
        measurements=measurements,
        trials=_points(trials),
        best=best,
        model=_model(sound, info.device, show),
        selection=selection,
        next_command=_next_command(folder, measurements, isinstance(selection, Selection)),
    )


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


def _next_command(folder: Path, measurements: Sequence[Measurement], selectable: bool) -> str:
    place = shlex.quote(str(folder))
    if selectable:
        return f"mltune distil {place}"
    failed = next((row for row in measurements if row.status is not Status.OK), None)
    return (
        f"mltune replay {place} {failed.id}" if failed else f"mltune search --resume --run {place}"
    )


def _model(measurements: Sequence[Measurement], device: DeviceInfo, show: Show) -> Model | str:
    """Fit the cost model, to everything for importance and without some sizes for calibration."""
    right = [row for row in measurements if row.median is not None]
    step = Phase("learn", show)
    step(0, _FOLDS + 1)
    try:
        model = fit(right, device, folds=1)
    except MltuneError:
        return "The cost model needs measurements that succeeded, and there are none."
    by_label: dict[str, list[Measurement]] = {}
    for row in right:
        by_label.setdefault(row.problem.label, []).append(row)
    labels = list(by_label)
    points: list[tuple[float, float]] = []
    groups: list[int] = []
    bias: list[tuple[str, float]] = []
    parts = list(folds(len(labels), _FOLDS, 0)) if len(labels) > 1 else []
    for done, (train, held_out) in enumerate(parts, start=1):
        step(done, len(parts) + 1)
        blind = fit([row for index in train for row in by_label[labels[index]]], device, folds=1)
        rows = [row for index in held_out for row in by_label[labels[index]]]
        here = np.repeat(held_out, [len(by_label[labels[index]]) for index in held_out])
        predicted, measured = _predict(blind, rows), np.array(_seconds(rows))
        points += zip(measured.tolist(), np.exp(predicted).tolist(), strict=True)
        groups += here.tolist()
        for index in held_out:
            errors = (predicted - np.log(measured))[here == index]
            bias.append((labels[index], float(np.exp(np.mean(errors)))))
    step(len(parts) + 1, len(parts) + 1)
    logs = np.log(np.array(points)).T if points else None
    scores = None if logs is None else score(np.array(groups), logs[1], logs[0])
    return Model(
        calibration=tuple(points),
        bias=tuple(bias),
        rmse_log=scores.rmse_log if scores else None,
        top_1=scores.top_1 if scores else None,
        importance=_importance(model, right, show),
    )


def _seconds(rows: Sequence[Measurement]) -> list[float]:
    return [row.median for row in rows if row.median is not None]


def _predict(
    model: BoostedModel, rows: Sequence[Measurement], configs: Sequence[Config] | None = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Log seconds of rows, which are grouped by problem as the model wants them."""
    configs = [row.config for row in rows] if configs is None else configs
    places: dict[Problem, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row.problem, []).append(place)
    predicted = np.empty(len(rows))
    asked = [(problem, [configs[place] for place in here]) for problem, here in places.items()]
    predicted[[place for here in places.values() for place in here]] = model.predict_all(asked)
    return predicted


def _importance(
    model: BoostedModel, rows: Sequence[Measurement], show: Show
) -> tuple[tuple[str, float], ...]:
    """What shuffling each varied parameter among the rows adds to the error of log seconds.

    Of many rows a random sample tells it as well.
    """
    chosen = np.random.default_rng(0).permutation(len(rows))[:_MOST_SHUFFLED]
    rows = [rows[place] for place in sorted(chosen.tolist())]
    truth = np.log(_seconds(rows))

    def error(configs: Sequence[Config]) -> float:
        return float(np.sqrt(np.mean((_predict(model, rows, configs) - truth) ** 2)))

    configs = [row.config for row in rows]
    before = error(configs)
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    shares = []
    shared = sorted(set.intersection(*(set(config) for config in configs)))
    varied = [name for name in shared if len({config[name] for config in configs}) > 1]
    step = Phase("weigh parameters", show)
    for done, name in enumerate(varied, start=1):
        shuffled = [
            Config.of(config.to_json() | {name: configs[other][name]})
            for config, other in zip(configs, order, strict=True)
        ]
        shares.append((name, error(shuffled) - before))
        step(done, len(varied))
    return tuple(sorted(shares, key=lambda share: -share[1]))


def _selection(info: RunInfo, measurements: Sequence[Measurement], show: Show) -> Selection | str:
    """Distil, and keep how every rule did on every size by a fit without it."""
    if info.family == HANDWRITTEN:
        return "A selector cannot ship hand-written kernels, so none is chosen."
    try:
        table = TimeTable.from_measurements(measurements).called(calls([info]))
    except MltuneError as error:
        return f"No kernel can be chosen from this run: {error}."
    distilled = distil(
        table,
        info.contraction,
        compute_units=info.device.compute_units,
        on_step=Phase("judge", show),
    )
    return Selection(
        selector=distilled.selector,
        portfolio_curve=tuple(_curve(table)),
        sizes=tuple(size.label for size in table.sizes),
        losses=tuple((row.rule, tuple(np.expm1(row.losses).tolist())) for row in distilled.rows),
    )


def _curve(table: TimeTable) -> list[tuple[int, float]]:
    """Kernels and loss, up to where another kernel covers no further size."""
    curve: list[tuple[int, float]] = []
    for most in range(1, min(_MOST_CURVE, len(table.kernels)) + 1):
        chosen = cover(table, tolerance=Settings().tolerance, max_kernels=most)
        if not curve or len(chosen) > curve[-1][0]:
            best = table.log_ratios[:, list(chosen)].min(axis=1)
            curve.append((len(chosen), float(np.expm1(best.mean()))))
    return curve
