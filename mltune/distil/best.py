"""Which rule ships for `--method auto`: the best one in cross-validation."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from mltune.distil.methods import SINGLE, TAUGHT
from mltune.distil.regret import RegretRow
from mltune.distil.rules import TEACHER
from mltune.distil.table import GAP

MOST_LOST = 0.003
"""What a taught tree may lose to its teacher, or to another rule, and still ship."""

STANDARD_ERRORS = 2
"""A mean loss below so many standard errors over the sizes may be chance.

Two runs of half NN (an H200, 541 sizes): by one split a taught tree lost 0.31 % to formulas, with
a standard error of 0.23 %, by another it gained 0.06 %. On 40 sizes measured anew it was 2.3 %
faster, with one of 0.6 %.
"""

_CANDIDATES = (TAUGHT, "formulas", "tree")


def best_rule(rows: Mapping[str, RegretRow], without: Collection[str] = ()) -> str:
    """Return the rule that ships for `--method auto`.

    A rule must beat the single kernel (`beats_single`); otherwise its gain may be chance. The
    taught tree's teacher must beat it, too. Of these rules the one with the best mean ships, or
    the taught tree if it loses at most `MOST_LOST` to it, or so little that it may be chance. If
    no rule is left, or nothing could be judged, the single kernel ships.

    Args:
        rows: of all rules, by their names.
        without: rules that must not ship.
    """
    if not rows:
        return SINGLE
    better = [rule for rule in _CANDIDATES if rule not in without and beats_single(rows, rule)]
    if TAUGHT in better and TEACHER in rows and not beats_single(rows, TEACHER):
        better.remove(TAUGHT)
    best = max(better, key=lambda rule: rows[rule].regret.geomean, default=SINGLE)
    return TAUGHT if TAUGHT in better and not _loses_clearly(rows[TAUGHT], rows[best]) else best


def _loses_clearly(one: RegretRow, other: RegretRow) -> bool:
    """Whether a rule loses more than `MOST_LOST` to another, and more than chance explains."""
    lost = np.array(one.losses) - np.array(other.losses)
    by_chance = STANDARD_ERRORS * float(lost.std()) / math.sqrt(len(lost))
    mean = 1 - one.regret.geomean / other.regret.geomean
    return mean > max(MOST_LOST, by_chance)


def beats_single(rows: Mapping[str, RegretRow], rule: str) -> bool:
    """Whether a rule is faster than a single kernel in the mean, and not slower at the worst.

    The worst size is one on which both kernels were timed: a gap in a run that was cut short says
    nothing about a rule.
    """
    ours, single = rows[rule], rows[SINGLE]
    timed = [pair for pair in zip(ours.losses, single.losses, strict=True) if GAP not in pair]
    worst = max((mine for mine, _ in timed), default=0.0)
    worst_of_single = max((its for _, its in timed), default=0.0)
    return ours.regret.geomean > single.regret.geomean and worst <= worst_of_single
