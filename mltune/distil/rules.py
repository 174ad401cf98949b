"""The rules of the regret table: those that may ship, and others to compare with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Fitted, Settings, fit
from mltune.distil.methods import METHODS, SINGLE, fit_single
from mltune.distil.portfolio import cover
from mltune.distil.table import TimeTable
from mltune.distil.teacher import Teacher, teach

PORTFOLIO = "best of portfolio"
"""A perfect choice: its loss comes from kernels that do not ship."""

TEACHER = "teacher"
"""What a taught tree imitates: formulas plus a Gaussian process of their residuals."""

Rule = Callable[[TimeTable, TimeTable, Settings], NDArray[np.float64]]
"""Fits to the first table; returns log(chosen time / best time) for each size of the second."""


def _oracle(train: TimeTable, test: TimeTable, settings: Settings) -> NDArray[np.float64]:
    return np.zeros(len(test.sizes))


def _portfolio_oracle(
    train: TimeTable, test: TimeTable, settings: Settings
) -> NDArray[np.float64]:
    portfolio = cover(train, tolerance=settings.tolerance, max_kernels=settings.max_kernels)
    return np.asarray(test.log_ratios[:, list(portfolio)].min(axis=1))


def _by(method: Callable[[TimeTable, Settings], Fitted | Teacher]) -> Rule:
    def judge(train: TimeTable, test: TimeTable, settings: Settings) -> NDArray[np.float64]:
        return method(train, settings).losses(test)

    return judge


def _nearest_size(train: TimeTable, test: TimeTable, settings: Settings) -> NDArray[np.float64]:
    known, asked = np.log(np.array(train.sizes)), np.log(np.array(test.sizes))
    distances = ((asked[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    return test.losses(train.log_ratios.argmin(axis=1)[distances.argmin(axis=1)])


def _random_pick(train: TimeTable, test: TimeTable, settings: Settings) -> NDArray[np.float64]:
    return np.asarray(test.log_ratios.mean(axis=1))


RULES: dict[str, Rule] = {
    "oracle": _oracle,
    PORTFOLIO: _portfolio_oracle,
    TEACHER: _by(teach),
    **{name: _by(method) for name, method in METHODS.items()},
    "nearest size": _nearest_size,
    "M*N thresholds": _by(partial(fit, feature_sets=(("mn",),))),
    SINGLE: _by(fit_single),
    "random pick": _random_pick,
}
