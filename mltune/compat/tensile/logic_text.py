"""Writes Tensile's library logic: solutions, the fastest one for exact sizes, and ranges.

Parameters that Tensile lacks have mltune's names, which `parse_logic` reads back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mltune.compat.tensile.keys import spelt
from mltune.compat.tensile.range_logic import ORDER, range_part
from mltune.errors import UsageError
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.tiled import TILED
from mltune.problem import Contraction, Precision, gemm_name, problem_type_name
from mltune.selector import Tree
from mltune.space.config import Config, Value

Fastest = tuple[tuple[int, ...], Config, float]
"""A size (m, n, k[, batch]), its fastest config, and that one's GFLOP/s."""

DATA_TYPES = {
    Precision.SINGLE: 0,
    Precision.DOUBLE: 1,
    Precision.COMPLEX_SINGLE: 2,
    Precision.COMPLEX_DOUBLE: 3,
    Precision.HALF: 4,
}
"""Tensile's numbers of the data types that mltune has."""


def logic_text(
    contraction: Contraction,
    fastest: Sequence[Fastest],
    device: str,
    rule: tuple[Sequence[Config], Tree] | None = None,
) -> str:
    """Write the logic of configs of `tiled`.

    Args:
        contraction: the problem type.
        fastest: of the exact sizes.
        device: its name.
        rule: configs, and a tree that chooses one for other sizes; None without ranges.

    Raises:
        UsageError: when Tensile has no such problem type, or the tree asks for other features.
    """
    ranged = () if rule is None else rule[0]
    configs = dict.fromkeys((*ranged, *(config for _, config, _ in fastest)))
    number_of = {config: number for number, config in enumerate(configs)}
    solutions = [_solution(contraction, config, number_of[config]) for config in configs]
    exact = [
        [[m, n, batch[0] if batch else 1, k], [number_of[config], round(gflops, 3)]]
        for (m, n, k, *batch), config, gflops in fastest
    ]
    parts: list[Any] = [
        {"MinimumRequiredVersion": "4.2.0"},
        "mltune",
        device,
        [device],
        _problem_type(contraction),
    ]
    lines = [json.dumps(part) for part in parts]
    ranges = "null" if rule is None else _listed(range_part(rule[1]))
    lines += [_listed(solutions), json.dumps(ORDER), _listed(exact), ranges]
    return "".join(f"- {line}\n" for line in lines)


def _listed(entries: Sequence[Any]) -> str:
    """Write a list with an entry on each line."""
    if not entries:
        return "[]"
    return "[\n    " + ",\n    ".join(map(json.dumps, entries)) + "\n  ]"


def _problem_type(contraction: Contraction) -> dict[str, Any]:
    if contraction.beyond_blas:
        raise UsageError(
            f"library logic: {problem_type_name(contraction)} has {contraction.beyond_blas}, "
            "which is not written"
        )
    name = gemm_name(contraction)
    if name is None or "_row" in name:
        raise UsageError(
            f"library logic: {problem_type_name(contraction)} is no column-major GEMM, and "
            "Tensile knows no others by name"
        )
    transposes = name.split("_")[1]
    return {
        "OperationType": "GEMM",
        "DataType": DATA_TYPES[contraction.precision],
        "TransposeA": transposes[0] != "n",
        "TransposeB": transposes[1] != "n",
        "ComplexConjugateA": contraction.conjugate_a,
        "ComplexConjugateB": contraction.conjugate_b,
        "Batched": bool(contraction.batch_indices),
        "UseBeta": True,
    }


def _solution(contraction: Contraction, config: Config, number: int) -> dict[str, Any]:
    """Write a config with Tensile's names where there are any, and without relying on defaults."""
    values: dict[str, Value] = {**TILED.defaults, **config}
    if values["local_pad_b"] == TILED.defaults["local_pad_b"]:
        values["local_pad_b"] = values["local_pad"]
    return {
        "SolutionIndex": number,
        "SolutionNameMin": kernel_name(contraction, config),
        **spelt(values),
    }
