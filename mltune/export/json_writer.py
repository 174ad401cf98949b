"""Writes one JSON document for other programs: the rule, and every kernel with its source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mltune.export.expression import EXTENT_NAMES, Dialect
from mltune.export.files import write_files
from mltune.export.library import Library
from mltune.export.statement import statement
from mltune.kernel import Kernel
from mltune.kernel.abi import Argument
from mltune.kernel.passes import Pass
from mltune.kernel.two_step_build import needs_two_steps
from mltune.selector import Selector
from mltune.selector.json import selector_data

FORMAT = "mltune library"
SCHEMA_VERSION = 3

DIALECT = Dialect(templates={"ceil_div": "ceil_div({0}, {1})", "max": "max({0}, {1})"})
"""The expressions of space files."""


class JsonWriter:
    """Writes everything that a program needs to choose, build and launch the kernels."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "json"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the document into a folder; see `Writer.write`."""
        library = Library.of(selector, kernels)
        data = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "problem_type": library.problem_type,
            "computes": library.formula,
            "memory_orders": library.orders,
            "batched": library.batched,
            "statement": statement(library),
            "selector": selector_data(selector),
            "kernels": [
                {
                    "name": kernel.name,
                    "arguments": [_argument(each) for each in kernel.arguments],
                    "work_group": kernel.work_group,
                    "macro_tile": kernel.macro_tile,
                    "passes": [_pass(each) for each in kernel.passes],
                    "scratch": [asdict(area) for area in kernel.scratch],
                    "counters": kernel.counters,
                    "build_options": kernel.build_options,
                    "two_steps": needs_two_steps(kernel.source),
                    "source": kernel.source,
                }
                for kernel in library.kernels
            ],
        }
        text = json.dumps(data, indent=1, allow_nan=False) + "\n"
        return write_files(out, {f"{library.name}.json": text})


def _pass(each: Pass) -> dict[str, Any]:
    """Return a launch; `then` is there where there is such an index."""
    return {name: value for name, value in asdict(each).items() if name != "then" or value}


def _argument(argument: Argument) -> dict[str, str]:
    """Return an argument of a launch; for an integer, its expression."""
    described = {"name": argument.name, "kind": argument.kind.value}
    if argument.value is None:
        return described
    return described | {"value": DIALECT.text(argument.value, EXTENT_NAMES)}
