"""Time formulas as straight-line code, before any language: counts first, then sums of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mltune.selector import TimeFormula


@dataclass(frozen=True, slots=True)
class Count:
    """A variable: how many parts of a size cover what is counted, or a product of such."""

    name: str
    counted: str
    part: int
    """0 if `counted` is the whole expression."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compute: counts that formulas share, in order, and the time of each kernel."""

    counts: tuple[Count, ...]
    times: tuple[str, ...]


def _times(more: str, is_odd: str) -> str:
    return f"({more}) * {is_odd}"


def plan(formulas: Sequence[TimeFormula], if_odd: Callable[[str, str], str] = _times) -> Plan:
    """Write the formulas down with every count computed once.

    Waves are counted from waves of fewer slots where that is exact, ceil(ceil(x / a) / b) being
    ceil(x / ab): a computer divides by 2 and 4 at once.

    Args:
        formulas: one for each kernel.
        if_odd: writes what odd sizes cost more, given that and the count that is 1 for them.
    """
    counts: dict[str, Count] = {}
    every = [waves for formula in formulas for waves in (*formula.waves, *formula.odd_waves)]
    unit = math.gcd(*(waves.slots for waves in every), *(each.units for each in formulas))

    def count(name: str, counted: str, part: int = 0) -> str:
        counts.setdefault(name, Count(name, counted, part))
        return name

    def waves_of(shape: str, tiles: str, slots: int) -> str:
        factor = next((factor for factor in (2, 3) if slots // unit % factor == 0), slots // unit)
        if factor == 1:
            return count(f"waves_{shape}_{slots}", tiles, slots)
        fewer = waves_of(shape, tiles, slots // factor)
        return count(f"waves_{shape}_{slots}", fewer, factor)

    times = []
    for formula in formulas:
        rows = count(f"rows_{formula.rows}", "m", formula.rows)
        columns = count(f"columns_{formula.columns}", "n", formula.columns)
        shape = f"{formula.rows}x{formula.columns}"
        tiles = count(f"tiles_{shape}", f"{rows} * {columns} * batch")
        steps = count(f"steps_{formula.depth}", "k", formula.depth)
        terms = [(formula.tile_step, tiles)]
        for waves in formula.waves:
            terms.append((waves.step, waves_of(shape, tiles, waves.slots)))
        each_step = _sum(formula.step, terms)
        odd_terms = [(w.step, waves_of(shape, tiles, w.slots)) for w in formula.odd_waves]
        odd = _sum(formula.odd_step, odd_terms)
        if odd != "0" and formula.multiples != (1, 1, 1):
            is_odd = count(*_is_odd(formula.multiples))
            each_step += f" + {if_odd(odd, is_odd)}"
        once_terms = [(formula.tile, tiles)]
        if formula.wave:
            once_terms.append((formula.wave, waves_of(shape, tiles, formula.units)))
        once = _sum(formula.launch, once_terms)
        if formula.odd_tile and formula.result_multiples != (1, 1):
            is_odd = count(*_is_odd((*formula.result_multiples, 1)))
            once += f" + {if_odd(f'{formula.odd_tile} * {tiles}', is_odd)}"
        times.append(once if each_step == "0" else f"{once} + ({each_step}) * {steps}")
    used = {name for name in counts if any(name in _names(time) for time in times)}
    for entry in reversed(list(counts.values())):
        if entry.name in used:
            used |= _names(entry.counted) & counts.keys()
    return Plan(tuple(entry for entry in counts.values() if entry.name in used), tuple(times))


def sizes_of(plan: Plan) -> frozenset[str]:
    """Those of m, n, k and batch that the counts need."""
    named = frozenset().union(*(_names(entry.counted) for entry in plan.counts))
    return named & {"m", "n", "k", "batch"}


def _is_odd(multiples: tuple[int, int, int]) -> tuple[str, str]:
    """A count that is 0 or 1, and the expression of it, which C and Python read alike."""
    asked = [(size, multiple) for size, multiple in zip("mnk", multiples, strict=True)]
    rests = [f"{size} % {multiple}" for size, multiple in asked if multiple > 1]
    name = "_".join(f"{size}{multiple}" for size, multiple in asked if multiple > 1)
    return f"odd_{name}", f"({' + '.join(rests)} > 0)"


def _sum(constant: int, terms: Sequence[tuple[int, str]]) -> str:
    shown = [f"{rate} * {name}" for rate, name in terms if rate]
    return " + ".join([str(constant)] * (constant != 0 or not shown) + shown)


def _names(expression: str) -> frozenset[str]:
    return frozenset(expression.replace("(", " ").replace(")", " ").split())
