"""The time formulas as a table: the costs of each kernel's launch, tiles, steps and waves."""

from __future__ import annotations

from collections.abc import Sequence

from mltune.report.markup import Markup
from mltune.report.numbers import seconds
from mltune.report.speed import kernel_letter
from mltune.report.tables import table
from mltune.selector import TimeFormula

_HEADER = (
    "kernel",
    "tile",
    "launch",
    "a tile",
    "a wave",
    "a step",
    "a tile's step",
    "a wave's step",
    "packing 1,024 elements",
)


def formula_table(formulas: Sequence[TimeFormula]) -> Markup:
    """One row for each kernel, by its letter."""
    rows = [
        (
            kernel_letter(index),
            f"{formula.rows}x{formula.columns}x{formula.depth}",
            *map(
                _time,
                (formula.launch, formula.tile, formula.wave, formula.step, formula.tile_step),
            ),
            ", ".join(f"{_time(one.step)} per {one.slots} tiles" for one in formula.waves),
            _packing(formula),
        )
        for index, formula in enumerate(formulas)
    ]
    return table("The time formulas", _HEADER, rows, numeric=(2, 3, 4, 5, 6))


def _packing(formula: TimeFormula) -> str:
    loads = (("A", formula.load_a), ("B", formula.load_b))
    return ", ".join(f"{_time(load)} of {operand}" for operand, load in loads if load)


def _time(femtoseconds: int) -> str:
    return seconds(femtoseconds / 1e15)
