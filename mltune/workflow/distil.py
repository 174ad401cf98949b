"""`mltune distil`: measurements become a portfolio, a tree, and the loss that they state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.distil import RegretRow, TimeTable, distil
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.files import make_folder, write_atomically
from mltune.kernel import KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction
from mltune.record import Measurement
from mltune.selector import Selector, depth, leaves
from mltune.selector.json import write_selector
from mltune.selector.pack import SELECTOR_NAME
from mltune.space import Config
from mltune.workflow.card import CARD_NAME, card
from mltune.workflow.memory import remembered
from mltune.workflow.progress import Phase, Show
from mltune.workflow.recorded import Recorded, calls, read_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOptions:
    """The options of `mltune distil`."""

    runs: tuple[Path, ...]
    output: Path | None
    method: str
    tolerance: float
    max_kernels: int
    max_depth: int
    held_out: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilResult:
    """The selector, where it lies, and how it compares on held-out sizes."""

    path: Path
    method: str
    selector: Selector
    rows: tuple[RegretRow, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Kernels in the portfolio, leaves and depth of the tree."""
        tree = self.selector.tree
        return len(self.selector.portfolio), len(leaves(tree)), depth(tree)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        kernels, leaf_count, levels = self.shape
        return {
            "selector": str(self.path),
            "method": self.method,
            "kernels": [kernel.name for kernel in self.selector.portfolio],
            "leaves": leaf_count,
            "depth": levels,
            "regret": [
                {
                    "rule": row.rule,
                    "sizes": row.regret.sizes,
                    "geomean": row.regret.geomean,
                    "p10": row.regret.p10,
                    "worst": row.regret.worst,
                    "worst_size": row.regret.worst_size,
                    "within_5_percent": row.within_5_percent,
                }
                for row in self.rows
            ],
            "kernel_count": kernels,
        }


def _of_every_size(recorded: Recorded) -> tuple[Measurement, ...]:
    """The measurements of kernels without limits: a selector answers for every size."""
    families = {m.config: m.family for m in recorded.measurements}
    limited = {
        config
        for config, family in families.items()
        if family in FAMILIES and _has_limits(FAMILIES[family], recorded.contraction, config)
    }
    kept = tuple(m for m in recorded.measurements if m.config not in limited)
    if not kept:
        raise NoCorrectConfigError(
            "distil: all kernels of the runs take multiples only, a selector answers for any size"
        )
    return kept


def _has_limits(family: KernelFamily, contraction: Contraction, config: Config) -> bool:
    try:
        return not family.generate(contraction, config).limits.takes_every_problem
    except UsageError:  # a config that this version cannot write
        return False


def distil_runs(options: DistilOptions, show: Show) -> DistilResult:
    """Distil the measurements of runs and write the selector.

    Raises:
        UsageError: when a run cannot be read or a setting is out of range.
        NoCorrectConfigError: when no kernel of the runs was right.
        MltuneError: when the selector cannot be written.
    """
    recorded = read_runs(options.runs, show)
    table = TimeTable.from_measurements(_of_every_size(recorded)).called(calls(recorded.infos))
    output = options.output or recorded.model_folder
    path = output if output.suffix == ".json" else output / SELECTOR_NAME
    make_folder(path.parent)  # what follows may take minutes
    distilled = remembered(distil, "on_step")(
        table,
        recorded.contraction,
        method=options.method,
        tolerance=options.tolerance,
        max_kernels=options.max_kernels,
        max_depth=options.max_depth,
        held_out=options.held_out,
        seed=options.seed,
        compute_units=recorded.device.compute_units,
        conditions=recorded.conditions,
        on_step=Phase("judge", show),
    )
    write_selector(distilled.selector, path)
    if path != output:
        text = card(distilled.selector, distilled.rows, output, options.runs)
        write_atomically(output / CARD_NAME, text.encode())
    return DistilResult(
        path=path, method=options.method, selector=distilled.selector, rows=distilled.rows
    )
