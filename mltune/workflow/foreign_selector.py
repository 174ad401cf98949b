"""Selectors from other systems: Tensile's library logic, AutoGEMM's selection data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mltune.compat.autogemm_data import SelectionData
from mltune.compat.tensile.logic import parse_choice, parse_logic
from mltune.compat.tensile.logic_text import logic_text
from mltune.distil.fit import Settings
from mltune.distil.ranges import fit_ranges
from mltune.errors import MltuneError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import kernel_name
from mltune.measurement import Measurement
from mltune.problem import Contraction, gemm
from mltune.run.run_info import RunInfo
from mltune.selector import Leaf, PortfolioKernel, Selector, Tree
from mltune.space.config import Config
from mltune.workflow.expected_times import rule_table

TILED = "tiled"
"""The family whose parameters are Tensile's and AutoGEMM's."""

_TRANSPOSES = {False: "nt", True: "ntc"}


def selector_of_logic(text: str, name: str) -> tuple[Selector, list[str]]:
    """Make the selector that chooses like library logic, with a line per missing part.

    Raises:
        UsageError: when mltune lacks a solution, or none is chosen.
    """
    logic, choice = parse_logic(text, name), parse_choice(text, name)
    notes = list(logic.notes)
    tree = choice.tree
    if tree is None:
        if not choice.exact:
            raise UsageError(f"{name}: has neither exact sizes nor ranges")
        (most, _), *_ = Counter(number for _, number in choice.exact).most_common(1)
        tree = Leaf(most)
        notes.append(
            f"{name}: has no ranges; others than its exact sizes get its commonest kernel"
        )
    exact = choice.exact
    if not logic.contraction.batch_indices:
        exact = tuple(one for one in exact if one[0][3] == 1)
    selector = _selector(logic.contraction, logic.configs, tree, f"library logic of {name}")
    return replace(selector, exact=exact), notes


def selectors_of_autogemm(data: Sequence[SelectionData], name: str) -> Iterator[Selector]:
    """Make the selectors that choose like AutoGEMM, one for each precision and transposes."""
    for each in data:
        letters = _TRANSPOSES[each.precision.is_complex]
        for a in letters:
            for b in letters:
                contraction = gemm(each.precision, a, b)
                yield _selector(contraction, each.configs(), each.tree(), f"AutoGEMM's {name}")


def _selector(
    contraction: Contraction, configs: Sequence[Config], tree: Tree, origin: str
) -> Selector:
    kernels = []
    for config in configs:
        try:
            made = FAMILIES[TILED].generate(contraction, config)
        except MltuneError as error:
            written = kernel_name(contraction, config)
            raise UsageError(f"{origin}: {written}: {error}") from error
        kernels.append(
            PortfolioKernel(
                name=made.name, family=TILED, config=config, source_hash=made.source_hash
            )
        )
    return Selector(
        contraction=contraction,
        portfolio=tuple(kernels),
        tree=tree,
        conditions=(("rule", origin),),
    )


def logic_of_selector(selector: Selector, name: str) -> tuple[str, list[str]]:
    """Write a selector of kernels of `tiled` as library logic, and list what is missing.

    Raises:
        UsageError: when it has other kernels, or features that library logic lacks.
    """
    if other := next((each for each in selector.portfolio if each.family != TILED), None):
        raise UsageError(f"{name}: {other.name} is no kernel of '{TILED}', which Tensile's are")
    if selector.formulas:
        raise UsageError(
            f"{name}: time formulas cannot be library logic; mltune distil --method tensile "
            "makes a tree that can"
        )
    configs = [each.config for each in selector.portfolio]
    fastest = [(size, configs[number], 0.0) for size, number in selector.exact]
    device = selector.device or "unknown"
    text = logic_text(selector.contraction, fastest, device, (configs, selector.tree))
    return text, [f"{name}: speeds of its exact sizes are not known, and written as 0"]


def rule_of_run(
    info: RunInfo, rows: Sequence[Measurement]
) -> tuple[tuple[Config, ...], Tree] | None:
    """Return Tensile's rules for a run's kernels of `tiled`; None if they cannot be fitted."""
    try:
        table = rule_table([row for row in rows if row.family == TILED], [info])
    except MltuneError:
        return None
    fitted = fit_ranges(table, Settings())
    return tuple(table.kernels[number].config for number in fitted.portfolio), fitted.tree
