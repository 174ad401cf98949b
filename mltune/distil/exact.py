"""The map of exact sizes: each measured size gets the fastest shipped kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Fitted, Settings
from mltune.distil.portfolio import cover
from mltune.distil.table import Size, TimeTable


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A size that is not in the map, so that the rule chooses for it, and the reason."""

    size: Size
    reason: str


@dataclass(frozen=True, slots=True)
class ExactMap:
    """Sizes with the numbers of their kernels.

    Attributes:
        portfolio: columns of the table with all times: the rule's kernels, then further ones that
            are the fastest on some sizes.
        kernels: a number in the portfolio for each size.
    """

    portfolio: tuple[int, ...]
    kernels: tuple[tuple[Size, int], ...]
    left_out: tuple[LeftOut, ...]


def reserved(every: TimeTable, table: TimeTable, settings: Settings) -> int:
    """Return how many kernels have to ship for sizes on which no candidate of the rule was timed.

    Such sizes belong to other groups of a protocol. At most half of all kernels are reserved; the
    others are for the rule.
    """
    known = np.isin(_names(every), _names(table))
    alone = np.flatnonzero(~np.isfinite(every.seconds[:, known]).any(axis=1))
    room = settings.max_kernels // 2
    if not len(alone) or not room:
        return 0
    return len(cover(every.take(alone.tolist()), tolerance=settings.tolerance, max_kernels=room))


def exact_map(
    every: TimeTable,
    table: TimeTable,
    fitted: Fitted,
    settings: Settings,
    *,
    efficiency: float,
    is_joined: bool,
) -> ExactMap:
    """Give each size the fastest kernel that was timed on it and ships.

    Kernels are added to the rule's, while there is room, so that each size has one within the
    tolerance of its best time.

    If only some of several runs measured a size, another run may have a faster kernel for it. Such
    a size is left to the rule if the rule chooses a kernel that was not timed there, and loses
    less than the best of the timed ones loses on the sizes where all were timed.

    Args:
        every: all times of kernels that may ship.
        table: the times that the rule was fitted to.
        fitted: the rule, with columns of `table`.
        settings: tolerance and number of kernels.
        efficiency: of the rule in cross-validation: best time / chosen time.
        is_joined: whether the times come from several runs.
    """
    columns = {name: column for column, name in enumerate(_names(every))}
    portfolio = tuple(columns[table.kernels[column].name] for column in fitted.portfolio)
    left_out: list[LeftOut] = []
    if is_joined:
        left_out = _better_by_rule(every, table, fitted, efficiency)
    by_rule = {one.size for one in left_out}
    rows = [row for row, size in enumerate(every.sizes) if size not in by_rule]
    if rows:
        portfolio = cover(
            every.take(rows),
            tolerance=settings.tolerance,
            max_kernels=max(settings.max_kernels, len(portfolio)),
            given=portfolio,
        )
    kernels: list[tuple[Size, int]] = []
    for row in rows:
        seconds = every.seconds[row, list(portfolio)]
        if np.isfinite(seconds).any():
            kernels.append((every.sizes[row], int(np.nanargmin(seconds))))
        else:
            reason = f"none of the {len(portfolio)} kernels that ship was timed there"
            if len(portfolio) == 1:
                reason = "the only kernel that ships was not timed there"
            left_out.append(LeftOut(every.sizes[row], f"{reason} (--max-kernels)"))
    return ExactMap(portfolio, tuple(kernels), tuple(left_out))


def _better_by_rule(
    every: TimeTable, table: TimeTable, fitted: Fitted, efficiency: float
) -> list[LeftOut]:
    rule, known = fitted.rule, set(table.sizes)
    names, every_names = _names(table), _names(every)
    found = []
    for size, seconds in zip(every.sizes, every.seconds, strict=True):
        timed = every_names[np.isfinite(seconds)]
        chosen = names[fitted.portfolio[rule.choose(*size)[0]]]
        if size in known or chosen in timed or not np.isin(timed, names).all():
            continue
        losses = table.log_ratios[:, np.isin(names, timed)].min(axis=1)
        best = math.exp(-losses.mean())
        if best < efficiency:
            found.append(
                LeftOut(
                    size,
                    f"timed with {len(timed)} of {len(names)} kernels, whose best has {best:.3f} "
                    f"of the best known speed elsewhere; the rule has {efficiency:.3f}",
                )
            )
    return found


def _names(table: TimeTable) -> NDArray[np.str_]:
    return np.array([kernel.name for kernel in table.kernels])
