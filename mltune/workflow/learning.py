"""The cost model of a run, for its report: its scores, and the importance of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model import BoostedModel, fit
from mltune.cost_model.scores import Scores, score
from mltune.device_info import DeviceInfo
from mltune.distil.fit import folds
from mltune.errors import MltuneError
from mltune.measurement import Measurement, of_problems
from mltune.problem import Problem
from mltune.report import Model
from mltune.side_by_side import side_by_side
from mltune.space import Config
from mltune.space.config import Value
from mltune.tuning.progress import Show, Steps

Array = NDArray[np.float64]

_FOLDS = 3
_MOST_SHUFFLED = 2_000


@dataclass(frozen=True, slots=True)
class _Judged:
    """A model, and the rows that it is scored on."""

    model: BoostedModel
    rows: tuple[Measurement, ...]


def learn(measurements: Sequence[Measurement], device: DeviceInfo, show: Show) -> Model | str:
    """Fit the cost model without some of the sizes, and score it on these, each of them once.

    Returns:
        The model's part of the report, or one line that says why there is no model.
    """
    import sklearn.ensemble  # noqa: F401  # once, before the processes are copied

    right = [row for row in measurements if row.median is not None]
    label_of = of_problems(right, _label)
    labels = list(dict.fromkeys(label_of))
    parts = [held_out for _, held_out in folds(len(labels), _FOLDS, 0)] if len(labels) > 1 else []
    if not right:
        return "The cost model needs measurements that succeeded, and there are none."

    def part(held_out: Sequence[int]) -> tuple[list[Measurement], tuple[Measurement, ...]]:
        unseen = {labels[place] for place in held_out}
        pairs = list(zip(right, label_of, strict=True))
        known = [row for row, label in pairs if label not in unseen]
        return known, tuple(row for row, label in pairs if label in unseen)

    def model_of(held_out: Sequence[int]) -> BoostedModel:
        return fit(part(held_out)[0], device, folds=1)

    step = Steps("learn", show)
    judged: list[_Judged] = []
    try:
        if not parts:  # a single size cannot be held out
            judged = [_Judged(fit(right, device, folds=1), tuple(right))]
        for held_out, model in zip(parts, side_by_side(model_of, parts), strict=True):
            judged.append(_Judged(model, part(held_out)[1]))
            step(len(judged), len(parts))
    except MltuneError as error:  # the system ended a process
        return f"The cost model could not be fitted: {error}."
    importance = _importance(judged, show)
    if not parts:
        return Model(calibration=(), bias=(), rmse_log=None, top_1=None, importance=importance)
    rows = [row for one in judged for row in one.rows]
    predicted = np.concatenate(
        [_predict(one, [[row.config for row in one.rows]])[0] for one in judged]
    ).tolist()
    scores, bias = _judge(rows, predicted)
    return Model(
        calibration=tuple(zip(_seconds(rows), np.exp(predicted).tolist(), strict=True)),
        bias=bias,
        rmse_log=scores.rmse_log,
        top_1=scores.top_1,
        importance=importance,
    )


def _judge(
    rows: Sequence[Measurement], predicted: Sequence[float]
) -> tuple[Scores, tuple[tuple[str, float], ...]]:
    """Return the scores of predicted log seconds, and each size's mean of predicted / measured."""
    truth = np.log(_seconds(rows))
    labels, groups = np.unique(of_problems(rows, _label), return_inverse=True)
    errors = np.array(predicted) - truth
    means = [float(np.exp(errors[groups == number].mean())) for number in range(len(labels))]
    bias = tuple(zip(labels.tolist(), means, strict=True))
    return score(groups, np.array(predicted), truth), bias


def _label(problem: Problem) -> str:
    return problem.label


def _seconds(rows: Sequence[Measurement]) -> list[float]:
    return [row.median for row in rows if row.median is not None]


def _predict(judged: _Judged, variants: Sequence[Sequence[Config]]) -> Array:
    """Return the predicted log seconds of the rows, for each variant of their configs."""
    places: dict[Problem, list[int]] = {}
    for place, row in enumerate(judged.rows):
        places.setdefault(row.problem, []).append(place)
    # All at once, as each prediction has a fixed cost.
    asked = [
        (problem, [configs[place] for configs in variants for place in here])
        for problem, here in places.items()
    ]
    answers = judged.model.predict_all(asked)
    predicted = np.empty((len(variants), len(judged.rows)))
    begin = 0
    for (_, configs), here in zip(asked, places.values(), strict=True):
        predicted[:, here] = answers[begin : begin + len(configs)].reshape(len(variants), -1)
        begin += len(configs)
    return predicted


def _importance(judged: Sequence[_Judged], show: Show) -> tuple[tuple[str, float], ...]:
    """Return, for each varied parameter, the increase of the error when it is shuffled.

    The error is of log seconds. Of many rows a random sample is used.
    """
    total = sum(len(one.rows) for one in judged)
    sample = np.zeros(total, dtype=bool)
    sample[np.random.default_rng(0).permutation(total)[:_MOST_SHUFFLED]] = True
    parts = np.split(sample, np.cumsum([len(one.rows) for one in judged])[:-1])
    sampled = [
        _Judged(one.model, tuple(one.rows[place] for place in np.flatnonzero(part).tolist()))
        for one, part in zip(judged, parts, strict=True)
    ]
    configs = [row.config for one in sampled for row in one.rows]
    order = np.random.default_rng(0).permutation(len(configs)).tolist()
    shared = sorted(set.intersection(*(set(config) for config in configs)))
    varied = [name for name in shared if len({config[name] for config in configs}) > 1]
    variants = [configs]
    for name in varied:
        given = [configs[place][name] for place in order]
        variants.append([_but(*each, name) for each in zip(configs, given, strict=True)])
    step = Steps("weigh parameters", show)
    wrong: list[Array] = []
    begin = 0
    for done, one in enumerate(sampled, start=1):
        end = begin + len(one.rows)
        if one.rows:
            predicted = _predict(one, [variant[begin:end] for variant in variants])
            wrong.append(predicted - np.log(_seconds(one.rows)))
        begin = end
        step(done, len(sampled))
    errors = np.sqrt(np.mean(np.concatenate(wrong, axis=1) ** 2, axis=1))
    shares = zip(varied, (errors[1:] - errors[0]).tolist(), strict=True)
    return tuple(sorted(shares, key=lambda share: -share[1]))


def _but(config: Config, value: Value, name: str) -> Config:
    """Return the config with another value of a parameter."""
    return config if config[name] == value else Config.of(config.to_json() | {name: value})
