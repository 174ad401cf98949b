"""Time formulas, fitted: non-negative rates whose times are nearest to the measured ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import PARTS, Fitted, Settings, folds
from mltune.distil.formula_times import Counts, log_seconds
from mltune.distil.portfolio import cover
from mltune.distil.table import EXPECTED_WEIGHT, TimeTable
from mltune.kernel.name import Blocking, blocking_of
from mltune.selector import Leaf, TimeFormula, Waves, features
from mltune.selector.formula import BLOCK, MOST_RATE

TILES_PER_UNIT = (1, 2, 3, 4, 6, 8)
"""How many work-groups a compute unit may hold at once; the fit keeps those that matter.

On 131 sizes and 36 kernels of an H200 (four folds, three splits) formulas with all of these lost
1.0 % on held-out sizes, with 1, 2 and 4 alone 1.5 %, with 1 alone 3.2 %.
"""

ROUNDS = 3
"""Repetitions of the fit. On 311 sizes of an H200 the worst size was as good with two, not with
one.
"""

KERNELS = (1, 2, 4, 6, 8, 12, 16, 24)
"""The sizes of portfolios that are tried."""

JUDGES, CLEARLY = 16, 0.8
"""Kernels, those with the most times, that choose the kind of all formulas: `narrowed`, if the sum
of squared errors is at most this share of what it is without.

On splits 100 and 101, teachers of NN, NT and TN of half on an H200 lost 0.6, 0.6 and 1.2 % less on
held-out sizes. Where the share is above 0.8 (sgemm NT, double), they lost 0.1 % more.
"""

_FEMTO = 1e15

Array = NDArray[np.float64]


def fit_formulas(table: TimeTable, settings: Settings) -> Fitted:
    """Choose a portfolio, and fit a formula to the times of each of its kernels.

    Of portfolios that do equally well on held-out sizes the smallest is taken, as fewer kernels
    make fewer mistakes. The kernel that is best on the largest size serves sizes whose formulas
    would overflow. If a kernel's name does not contain its macro tile, there are no formulas, and
    that kernel serves all sizes.
    """
    most = sorted({min(count, settings.max_kernels) for count in (*KERNELS, settings.max_kernels)})
    if len(table.sizes) < PARTS:
        return _of_most(table, settings, most[-1])
    losses = dict.fromkeys(most, 0.0)
    for train_rows, test_rows in folds(len(table.sizes), PARTS, settings.seed):
        train, test = table.take(train_rows), table.take(test_rows)
        for count in most:
            losses[count] += float(_of_most(train, settings, count).losses(test).sum())
    best = min(most, key=lambda count: round(losses[count], 9))
    return _of_most(table, settings, best)


def _of_most(table: TimeTable, settings: Settings, max_kernels: int) -> Fitted:
    portfolio = cover(table, tolerance=settings.tolerance, max_kernels=max_kernels)
    largest = max(range(len(table.sizes)), key=lambda row: features(*table.sizes[row])["mnk"])
    tree = Leaf(int(np.argmin(table.log_ratios[largest, list(portfolio)])))
    blockings = [blocking_of(table.kernels[column].name) for column in portfolio]
    known = [blocking for blocking in blockings if blocking is not None]
    if len(known) < len(portfolio):
        return Fitted(portfolio, tree)
    return Fitted(portfolio, tree, fit_each(table, portfolio, known, settings))


def fit_each(
    table: TimeTable, columns: Sequence[int], blockings: Sequence[Blocking], settings: Settings
) -> tuple[TimeFormula, ...]:
    """Fit the formulas of some kernels of a table, all of one kind."""

    def fit(number: int, is_narrowed: bool) -> TimeFormula:
        return fit_formula(
            table, columns[number], blockings[number], settings, is_narrowed=is_narrowed
        )

    sizes = np.array(table.sizes, dtype=np.float64)
    return of_one_kind(fit, sizes, table.seconds[:, list(columns)])


def of_one_kind(
    fit: Callable[[int, bool], TimeFormula], sizes: Array, seconds: Array
) -> tuple[TimeFormula, ...]:
    """Return the formulas of some kernels, of the kind that is nearer to their times.

    Narrow accesses cost the same wherever they are needed, or `narrowed` counts elements and
    halvings. The latter halves the errors for half precision, whose widest access has 8 elements
    (left-out times of NN and TN on an H200: 0.20 -> 0.14 and 0.28 -> 0.14); for double and for
    kernels that read element by element where vectors do not fit, they are 1 to 7 % larger.

    Args:
        fit: fits the formula of a kernel, by its number, with `narrowed` or without.
        sizes: m, n, k and batch, a row each.
        seconds: by size and kernel; nan if unknown.
    """
    fit = cache(fit)
    judges = np.argsort(-np.isfinite(seconds).sum(axis=0), kind="stable")[:JUDGES].tolist()
    logs = np.log(seconds[:, judges])
    plain, narrowed = (
        np.nansum((logs - log_seconds([fit(number, kind) for number in judges], sizes)) ** 2)
        for kind in (False, True)
    )
    is_narrowed = bool(narrowed < CLEARLY * plain)
    return tuple(fit(number, is_narrowed) for number in range(seconds.shape[1]))


@lru_cache(maxsize=8192)  # portfolios of different lengths share most kernels
def fit_formula(
    table: TimeTable,
    column: int,
    blocking: Blocking,
    settings: Settings,
    *,
    is_narrowed: bool = False,
) -> TimeFormula:
    """Fit the formula of a kernel of a table.

    Sizes on which the kernel has no time are left out. Times that a model predicts have the weight
    `EXPECTED_WEIGHT`, all others 1: by the calls of a program, 419 sizes of an H200 count as 19 to
    24, and teachers lost 0.2 to 0.35 % more on held-out sizes, each counted once (splits 100 to
    102).

    Args:
        table: the measured times.
        column: the kernel's.
        blocking: of the kernel.
        settings: with the device's compute units, and where vectors can be read.
        is_narrowed: whether it matters which extents are odd, and how odd they are.
    """
    seconds = table.known[:, column]
    known = np.isfinite(seconds)
    is_expected = np.isnan(table.seconds[known, column])
    weights = np.where(is_expected, EXPECTED_WEIGHT, 1.0)
    sizes = np.array(table.sizes, dtype=np.float64)[known]
    return formula_of(sizes, seconds[known], weights, blocking, settings, is_narrowed=is_narrowed)


def formula_of(
    sizes: Array,
    seconds: Array,
    weights: Array,
    blocking: Blocking,
    settings: Settings,
    *,
    is_narrowed: bool = False,
) -> TimeFormula:
    """Find the rates that nearly minimise the sum of squares of log(time / measured time).

    Squared relative errors alone would forgive times that are far too short, as their error is at
    most 1; but a kernel whose predicted time is too short is the one that gets chosen. So they are
    only the first step; each further round weights a size by 1 / (measured time * last
    prediction).

    Work-groups that share a sum count as one work-group with more terms in a step and a larger
    part of a wave. A kernel that packs A and B first has rates for their elements.

    Args:
        sizes: m, n, k and batch, a row each.
        seconds: by size.
        weights: by size.
        blocking: of the kernel.
        settings: with the device's compute units, and where vectors can be read.
        is_narrowed: whether it matters which extents are odd, and how odd they are.
    """
    m, n, k, batch = sizes.T
    rows, columns = blocking.sides[::-1] if settings.swapped else blocking.sides
    depth = blocking.depth * blocking.split
    tiles = np.ceil(m / rows) * np.ceil(n / columns) * batch
    steps = np.ceil(k / depth)
    slots = [
        max(settings.compute_units * number // blocking.split, 1) for number in TILES_PER_UNIT
    ]
    waves = [np.ceil(tiles / count) for count in slots]
    of_waves = [each * steps for each in waves]
    multiples = settings.multiples
    written = (1, multiples[1]) if settings.swapped else (multiples[0], 1)
    narrowed = _narrowed(rows, columns, settings) if is_narrowed else (0, 0, 0)
    odd = Counts(sizes).odd(multiples, narrowed)
    odd_result = (m % written[0] + n % written[1]) > 0
    loads = [blocking.packs * np.ceil(extent * k * batch / BLOCK) for extent in (m, n)]
    counts = [np.ones(len(m)), tiles, waves[0], odd_result * tiles, *loads]
    counts += [steps, tiles * steps, odd * steps, *of_waves, *(odd * w for w in of_waves)]
    solved = _solve(np.stack(counts, axis=1), seconds, weights)
    launch, per_tile, wave, odd_tile, load_a, load_b, step, tile_step, odd_step, *rates = (
        round(rate) for rate in np.minimum(solved * _FEMTO, MOST_RATE).tolist()
    )
    return TimeFormula(
        rows=rows,
        columns=columns,
        depth=depth,
        launch=launch,
        tile=per_tile,
        wave=wave,
        units=slots[0],
        step=step,
        tile_step=tile_step,
        waves=_waves(slots, rates[: len(slots)]),
        multiples=multiples,
        odd_step=odd_step,
        odd_waves=_waves(slots, rates[len(slots) :]),
        result_multiples=written,
        odd_tile=odd_tile,
        load_a=load_a,
        load_b=load_b,
        narrowed=narrowed,
    )


def _narrowed(rows: int, columns: int, settings: Settings) -> tuple[int, int, int]:
    """Return how many elements of a tile of A and B lie in rows along m, n and k."""
    found = [0, 0, 0]
    for side, axis in zip((rows, columns), settings.rows_along, strict=True):
        if settings.multiples[axis] > 1:
            found[axis] += side
    return (found[0], found[1], found[2])


def _solve(counts: Array, seconds: Array, weights: Array) -> Array:
    """Return the seconds per count, after the rounds of `formula_of`."""
    from scipy.optimize import nnls  # takes long to load

    expected = seconds
    for _ in range(1 + ROUNDS):
        emphasis = np.sqrt(weights / (seconds * expected))
        scaled = counts * emphasis[:, None]
        # a launch and a step of a tile differ by a factor of 10^6
        scale = np.linalg.norm(scaled, axis=0)
        scale[scale == 0] = 1  # no size has this count
        solved, _ = nnls(scaled / scale, seconds * emphasis)
        rates = solved / scale
        expected = np.maximum(counts @ rates, seconds / 1000)  # above 0 in any case
    return np.asarray(rates)


def _waves(slots: Sequence[int], rates: Sequence[int]) -> tuple[Waves, ...]:
    return tuple(Waves(count, rate) for count, rate in zip(slots, rates, strict=True) if rate)
