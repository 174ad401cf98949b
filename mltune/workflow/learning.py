"""What a cost model can learn from a run, for its report: how well it predicts, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mltune.cost_model import BoostedModel, fit
from mltune.cost_model.scores import Scores, score
from mltune.device_info import DeviceInfo
from mltune.distil.fit import folds
from mltune.errors import MltuneError
from mltune.problem import Problem
from mltune.record import Measurement
from mltune.report import Model
from mltune.space import Config
from mltune.workflow.progress import Phase, Show

_FOLDS = 4
_MOST_SHUFFLED = 5_000


def learn(measurements: Sequence[Measurement], device: DeviceInfo, show: Show) -> Model | str:
    """Fit the cost model, to everything for importance and without some sizes for calibration.

    Returns:
        What the report shows of it, or one line that says why there is no model.
    """
    right = [row for row in measurements if row.median is not None]
    labels = list(dict.fromkeys(row.problem.label for row in right))
    parts = list(folds(len(labels), _FOLDS, 0)) if len(labels) > 1 else []
    step = Phase("learn", show)
    step(0, len(parts) + 1)
    try:
        model = fit(right, device, folds=1)
    except MltuneError:
        return "The cost model needs measurements that succeeded, and there are none."
    known: list[Measurement] = []
    predicted: list[float] = []
    for done, (_, held_out) in enumerate(parts, start=1):
        step(done, len(parts) + 1)
        unseen = {labels[place] for place in held_out}
        blind = fit([row for row in right if row.problem.label not in unseen], device, folds=1)
        rows = [row for row in right if row.problem.label in unseen]
        known += rows
        predicted += _predict(blind, rows).tolist()
    step(len(parts) + 1, len(parts) + 1)
    scores, bias = _judge(known, predicted) if parts else (None, ())
    return Model(
        calibration=tuple(zip(_seconds(known), np.exp(predicted).tolist(), strict=True)),
        bias=bias,
        rmse_log=scores.rmse_log if scores else None,
        top_1=scores.top_1 if scores else None,
        importance=_importance(model, right, show),
    )


def _judge(
    rows: Sequence[Measurement], predicted: Sequence[float]
) -> tuple[Scores, tuple[tuple[str, float], ...]]:
    """Scores of predicted log seconds, and for each size the mean of predicted / measured time."""
    truth = np.log(_seconds(rows))
    labels, groups = np.unique([row.problem.label for row in rows], return_inverse=True)
    errors = np.array(predicted) - truth
    means = [float(np.exp(errors[groups == number].mean())) for number in range(len(labels))]
    bias = tuple(zip(labels.tolist(), means, strict=True))
    return score(groups, np.array(predicted), truth), bias


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
