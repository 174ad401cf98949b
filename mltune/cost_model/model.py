"""The cost model: predicts the seconds of configs on a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model.estimate import Estimate
from mltune.cost_model.features import Encoder
from mltune.cost_model.forest import Forest
from mltune.cost_model.scores import Scores
from mltune.counted import counted
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import Problem
from mltune.space.config import Config


class CostModel(Protocol):
    """Predicts the times of configs on a problem, for the device that it was trained for."""

    @property
    def device(self) -> DeviceInfo:
        """The device that it was trained for."""
        ...

    def predict(self, problem: Problem, configs: Sequence[Config]) -> NDArray[np.float64]:
        """Return the natural log of the seconds for each config; it is finite for every config."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoostedModel:
    """A cost model of boosted trees, which predict the ratio of measured to estimated time.

    Attributes:
        problem_types: that it was trained on, for information.
        rows: how many measurements it was trained on.
        scores: on held-out sizes; None with fewer than two sizes.
        trained_with: the library and version that grew the trees.

    Raises:
        UsageError: when the forest uses features that do not exist.
    """

    device: DeviceInfo
    encoder: Encoder
    estimate: Estimate
    forest: Forest
    problem_types: tuple[str, ...]
    rows: int
    scores: Scores | None
    trained_with: str

    def __repr__(self) -> str:  # one line: a forest is pages long
        names, rows = ", ".join(self.problem_types), counted(self.rows, "measurement")
        return f"<BoostedModel {names} on {self.device.name}, {rows}>"

    def __post_init__(self) -> None:
        known = len(self.encoder.names(self.device))
        if self.forest.features > known:
            raise UsageError(
                f"cost model: a tree asks about feature {self.forest.features - 1} of {known}"
            )

    def predict(self, problem: Problem, configs: Sequence[Config]) -> NDArray[np.float64]:
        """Return the natural log of the seconds for each config."""
        return self.predict_all([(problem, configs)])

    def predict_all(
        self, asked: Sequence[tuple[Problem, Sequence[Config]]]
    ) -> NDArray[np.float64]:
        """Do the same for several problems, one after the other, in one pass of the trees."""
        rows = self.encoder.encode_all(asked, self.device)
        names = self.encoder.names(self.device)
        return self.estimate.log_seconds(names, rows) + self.forest.predict(rows)


def rank(
    model: CostModel, problem: Problem, configs: Sequence[Config]
) -> list[tuple[Config, float]]:
    """Return the distinct configs with their predicted seconds, the fastest first."""
    distinct = list(dict.fromkeys(configs))
    if not distinct:
        return []
    seconds = np.exp(model.predict(problem, distinct))
    order = np.argsort(seconds, kind="stable")
    return [(distinct[place], float(seconds[place])) for place in order]
