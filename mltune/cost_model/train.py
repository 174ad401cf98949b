"""Training: boosted trees by scikit-learn, and their scores on held-out sizes.

scikit-learn is imported inside the function that needs it, because it takes a second to load and
predictions do not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model.estimate import Estimate
from mltune.cost_model.features import Encoder
from mltune.cost_model.forest import Forest
from mltune.cost_model.model import BoostedModel
from mltune.cost_model.scores import Scores, score
from mltune.counted import none_of
from mltune.device_info import DeviceInfo
from mltune.errors import NoCorrectConfigError
from mltune.measurement.measurement import Measurement
from mltune.problem import Problem, problem_type_name
from mltune.side_by_side import side_by_side

Array = NDArray[np.float64]

_Rows = NDArray[np.bool_]

_TREES = 300


@dataclass(frozen=True, slots=True)
class OtherDevice:
    """Measurements of another device, from which a model may learn, too."""

    device: DeviceInfo
    rows: Sequence[Measurement]


def fit(
    rows: Sequence[Measurement],
    device: DeviceInfo,
    *,
    others: Sequence[OtherDevice] = (),
    folds: int = 4,
    seed: int = 0,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> BoostedModel:
    """Train a cost model on measurements of one device; failed ones are left out.

    Its scores come from `folds` further models, each trained without some of the sizes and scored
    on these.

    Args:
        rows: of the device.
        device: that the model is for.
        others: of other devices. The trees also learn the ratios of their times to their own
            estimates; scores do not count them.
        folds: the number of parts of the sizes.
        seed: of the fit and the split.
        on_step: called with the number of models trained so far, and of all.

    Raises:
        NoCorrectConfigError: when no measurement succeeded.
    """
    encoder = Encoder.of(row.config for some in (rows, *(o.rows for o in others)) for row in some)
    data, problems = _read(rows, device, encoder)
    pools = [_pool(_read(other.rows, other.device, encoder)[0])[1] for other in others]
    parts = _parts(data, min(folds, int(data.sizes.max()) + 1), seed)
    on_step(0, 1 + len(parts))
    import sklearn.ensemble  # noqa: F401  # once, before the processes are copied

    def train(part: _Rows | None) -> tuple[Estimate, Forest]:
        return _train(data if part is None else data.take(~part), pools, seed)

    trained = []
    for one in side_by_side(train, (None, *parts)):
        trained.append(one)
        on_step(len(trained), 1 + len(parts))
    estimate, forest = trained[0]
    return BoostedModel(
        device=device,
        encoder=encoder,
        estimate=estimate,
        forest=forest,
        problem_types=tuple(sorted({problem_type_name(p.contraction) for p in problems})),
        rows=len(data.seconds),
        scores=_cross_validated(data, parts, trained[1:]) if parts else None,
        trained_with=f"scikit-learn {version('scikit-learn')}",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """Rows of features with their seconds.

    Attributes:
        groups: a number for each row, the same for rows of one problem.
        sizes: a number for each row, the same for rows of one size.
    """

    names: tuple[str, ...]
    features: Array
    seconds: Array
    groups: NDArray[np.intp]
    sizes: NDArray[np.intp]

    def take(self, rows: _Rows) -> _Data:
        """Return the rows that a mask selects."""
        return _Data(
            self.names,
            self.features[rows],
            self.seconds[rows],
            self.groups[rows],
            self.sizes[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """Rows of features with their targets: the logs of measured / estimated time."""

    features: Array
    rest: Array


def _read(
    rows: Sequence[Measurement], device: DeviceInfo, encoder: Encoder
) -> tuple[_Data, list[Problem]]:
    """Return the features and times of the rows that succeeded, and their problems."""
    by_problem: dict[Problem, list[Measurement]] = {}
    for row in rows:
        if row.median is not None:
            by_problem.setdefault(row.problem, []).append(row)
    by_problem = dict(sorted(by_problem.items(), key=lambda item: item[0].size))
    if not by_problem:
        failed = none_of(len(rows), "measurement", "has", "succeeded")
        raise NoCorrectConfigError(f"cost model: {failed}")
    right = [row for same in by_problem.values() for row in same]
    asked = [(problem, [row.config for row in same]) for problem, same in by_problem.items()]
    features = encoder.encode_all(asked, device)
    seconds = np.array([row.median for row in right], dtype=np.float64)
    counts = [len(same) for same in by_problem.values()]
    groups = np.repeat(np.arange(len(asked)), counts)
    labels = np.unique([problem.label for problem in by_problem], return_inverse=True)[1]
    sizes = np.repeat(labels, counts)
    return _Data(encoder.names(device), features, seconds, groups, sizes), list(by_problem)


def _pool(data: _Data) -> tuple[Estimate, _Pool]:
    """Fit the estimate, and return the targets that remain."""
    estimate = Estimate.fit(data.names, data.features, data.seconds)
    rest = np.log(data.seconds) - estimate.log_seconds(data.names, data.features)
    return estimate, _Pool(data.features, rest)


def _train(data: _Data, others: Sequence[_Pool], seed: int) -> tuple[Estimate, Forest]:
    """Fit the estimate of each device, and trees to the targets of all."""
    estimate, own = _pool(data)
    pools = (own, *others)
    features = np.concatenate([pool.features for pool in pools])
    return estimate, _boost(features, np.concatenate([pool.rest for pool in pools]), seed)


def _parts(data: _Data, count: int, seed: int) -> list[_Rows]:
    """Return the rows that each part of the sizes holds out; none for a single part."""
    if count < 2:
        return []
    part_of_size = np.random.default_rng(seed).permutation(int(data.sizes.max()) + 1) % count
    return [part_of_size[data.sizes] == part for part in range(count)]


def _cross_validated(
    data: _Data, parts: Sequence[_Rows], trained: Sequence[tuple[Estimate, Forest]]
) -> Scores:
    """Return scores on sizes that were held out, each exactly once."""
    predicted = np.empty(len(data.seconds))
    for held_out, (estimate, forest) in zip(parts, trained, strict=True):
        features = data.features[held_out]
        predicted[held_out] = estimate.log_seconds(data.names, features)
        predicted[held_out] += forest.predict(features)
    return score(data.groups, predicted, np.log(data.seconds))


def _boost(features: Array, target: Array, seed: int) -> Forest:
    """Grow the trees and copy their nodes; these settings fit 10 rows as well as 10^5."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(
        max_iter=_TREES,
        learning_rate=0.06,
        max_leaf_nodes=31,
        min_samples_leaf=int(np.clip(len(target) // 40, 2, 20)),
        l2_regularization=1.0,
        max_features=0.5,
        early_stopping=False,
        random_state=seed,
    )
    asked = distinct_columns(features)
    # One thread: on a machine with other work OpenMP's spinning made it ten times slower. The
    # limit holds for the calling thread only, so that models can be trained in parallel.
    with threadpool_limits(limits=1, user_api="openmp"):
        model.fit(features[:, asked], target)
    trees = [iteration[0].nodes for iteration in model._predictors]
    starts = np.cumsum([0, *(len(tree) for tree in trees)])
    nodes = np.concatenate(trees)
    offset = np.repeat(starts[:-1], [len(tree) for tree in trees])
    number = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    return Forest(
        roots=starts[:-1].astype(np.int32),
        feature=np.where(is_leaf, -1, asked[nodes["feature_idx"]]).astype(np.int32),
        threshold=np.where(is_leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
        low=np.where(is_leaf, number, nodes["left"] + offset).astype(np.int32),
        high=np.where(is_leaf, number, nodes["right"] + offset).astype(np.int32),
        nan_goes_low=nodes["missing_go_to_left"].astype(np.bool_),
        value=np.where(is_leaf, nodes["value"], 0.0),
        baseline=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1),
    )


def distinct_columns(features: Array) -> NDArray[np.intp]:
    """Return the columns that give different splits; at least one.

    A constant column gives no split, nor does a column that is nan everywhere. A column whose
    values are in the same order as another's, such as the log of a number, gives the same splits.
    Without these columns the trees grow in two thirds of the time, and predict as well: on
    held-out sizes of two runs the errors of log seconds were 0.108 and 0.213 with and without
    them.
    """
    first: dict[bytes, int] = {}
    for place, column in enumerate(features.T):
        ranks = np.unique(column, return_inverse=True)[1]
        if ranks.any():
            first.setdefault(ranks.tobytes() + np.isnan(column).tobytes(), place)
    return np.array([*first.values()] or [0], dtype=np.intp)
