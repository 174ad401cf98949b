"""Time formulas as straight-line code for any language: counts first, then sums of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mltune.selector import TimeFormula
from mltune.selector.formula import BLOCK
from mltune.selector.rest import any_rest
from mltune.space.expression import Name, Node, Number, Operation, chain, names, product


@dataclass(frozen=True, slots=True)
class Count:
    """A variable: a size divided by a length and rounded up, or a product of such counts."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Plan:
    """The computation: counts that formulas share, in order, and the time of each kernel."""

    counts: tuple[Count, ...]
    times: tuple[Node, ...]


def plan(formulas: Sequence[TimeFormula], *, halves: bool = True) -> Plan:
    """Plan the computation so that every count is computed once.

    Nothing overflows 63 bits for sizes within the formulas' `work_limit`.

    Args:
        formulas: of the kernels.
        halves: whether waves are counted from waves of fewer slots, as ceil(ceil(x / a) / b) is
            ceil(x / ab), where divisions by 2 and 4 are fast.
    """
    counts: dict[str, Count] = {}
    every = [waves for formula in formulas for waves in (*formula.waves, *formula.odd_waves)]
    unit = math.gcd(*(waves.slots for waves in every), *(each.units for each in formulas))

    def count(name: str, value: Node) -> Node:
        counts.setdefault(name, Count(name, value))
        return Name(name)

    def waves_of(shape: str, tiles: Node, slots: int) -> Node:
        factor = next((factor for factor in (2, 3) if slots // unit % factor == 0), slots // unit)
        if factor == 1 or not halves:
            return count(f"waves_{shape}_{slots}", _cover(tiles, slots))
        fewer = waves_of(shape, tiles, slots // factor)
        return count(f"waves_{shape}_{slots}", _cover(fewer, factor))

    times = []
    for formula in formulas:
        rows = count(f"rows_{formula.rows}", _cover(Name("m"), formula.rows))
        columns = count(f"columns_{formula.columns}", _cover(Name("n"), formula.columns))
        shape = f"{formula.rows}x{formula.columns}"
        tiles = count(f"tiles_{shape}", product(rows, columns, Name("batch")))
        steps = count(f"steps_{formula.depth}", _cover(Name("k"), formula.depth))
        each_step: list[Node] = [Number(formula.step), _rate(formula.tile_step, tiles)]
        each_step += [_rate(w.step, waves_of(shape, tiles, w.slots)) for w in formula.waves]
        odd: list[Node] = [Number(formula.odd_step)]
        odd += [_rate(w.step, waves_of(shape, tiles, w.slots)) for w in formula.odd_waves]
        if _sum(odd) != _ZERO and any(formula.narrowed):
            pairs = list(zip("mnk", formula.narrowed, formula.multiples, strict=True))
            halved = [_rate(each, count(*_halvings(size, of))) for size, each, of in pairs if each]
            name = "_".join(f"{size}{of}x{each}" for size, each, of in pairs if each)
            each_step.append(_times(_sum(odd), count(f"narrowed_{name}", _sum(halved))))
        elif _sum(odd) != _ZERO and formula.multiples != (1, 1, 1):
            each_step.append(_given(_sum(odd), count(*_is_odd(formula.multiples))))
        once: list[Node] = [Number(formula.launch), _rate(formula.tile, tiles)]
        if formula.wave:
            once.append(_rate(formula.wave, waves_of(shape, tiles, formula.units)))
        if formula.odd_tile and formula.result_multiples != (1, 1):
            is_odd = count(*_is_odd((*formula.result_multiples, 1)))
            once.append(_given(_rate(formula.odd_tile, tiles), is_odd))
        for rate, operand, extent in ((formula.load_a, "a", "m"), (formula.load_b, "b", "n")):
            if rate:
                elements = product(*map(Name, (extent, "k", "batch")))
                once.append(_rate(rate, count(f"blocks_{operand}", _cover(elements, BLOCK))))
        times.append(_sum([*once, _times(_sum(each_step), steps)]))
    used = frozenset().union(*map(names, times))
    for entry in reversed(list(counts.values())):
        if entry.name in used:
            used |= names(entry.value)
    return Plan(tuple(entry for entry in counts.values() if entry.name in used), tuple(times))


def sizes_of(plan: Plan) -> frozenset[str]:
    """Return those of m, n, k and batch that the counts need."""
    named = frozenset().union(*(names(entry.value) for entry in plan.counts))
    return named & {"m", "n", "k", "batch"}


_ZERO = Number(0)


def _cover(size: Node, part: int) -> Node:
    return Operation("ceil_div", (size, Number(part)))


def _times(left: Node, right: Node) -> Node:
    return _ZERO if _ZERO in (left, right) else Operation("*", (left, right))


def _rate(femtoseconds: int, name: Node) -> Node:
    return _times(Number(femtoseconds), name)


def _given(more: Node, is_odd: Node) -> Node:
    return Operation("given", (more, is_odd))


def _sum(terms: Sequence[Node]) -> Node:
    shown = [term for term in terms if term != _ZERO]
    return chain("+", shown) if shown else _ZERO


def _is_odd(multiples: tuple[int, int, int]) -> tuple[str, Node]:
    """Return the name and the value of a flag: whether a size is no multiple of these."""
    asked = zip("mnk", multiples, strict=True)
    name = "_".join(f"{size}{multiple}" for size, multiple in asked if multiple > 1)
    return f"odd_{name}", Operation("flag", (Operation(">", (any_rest(multiples), _ZERO)),))


def _halvings(size: str, multiple: int) -> tuple[str, Node]:
    """Return the name and the value of `mltune.selector.formula.halvings`."""
    powers = [2**power for power in range(1, multiple.bit_length())]
    rests = [Operation("&", (Name(size), Number(power - 1))) for power in powers]
    flags = [Operation("flag", (Operation(">", (rest, _ZERO)),)) for rest in rests]
    return f"halvings_{size}{multiple}", _sum(flags)
