"""A pack's card: measurements with date and device, the loss of the choice, and its use."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from mltune.distil import RegretRow
from mltune.errors import UsageError
from mltune.export.plain import plain
from mltune.problem import problem_type_name
from mltune.selector import Selector, depth
from mltune.selector.speeds import Speed
from mltune.shell import shell_path
from mltune.workflow.export import next_command

_log = logging.getLogger(__name__)

CARD_NAME = "README.md"

_MADE_BY = b"Made by `mltune "
"""In every card."""

_CARD = """\
# {problem} on {device}

Which of {kernels} kernels is fastest for a size, and how long kernels take, as measured.

| what | |
|---|---|
{conditions}

Speed of the chosen kernel / best known, on {sizes} sizes, each judged by a fit without it:

| rule | geomean | 10th pct | worst | at | within 5 % |
|---|---|---|---|---|---|
{rules}

- `selector.json` chooses: {chooses}.
- `speeds.json` states what the check at its first use on a device expects: {speeds}.
- `model.json`, `forest.npz` and `candidates.json`, where they are, are the cost model, which
  predicts the time of any kernel.

```sh
{command}
```

Made by {made_by}. Licence: that of mltune, Apache-2.0.
"""


def card(
    selector: Selector,
    rows: Sequence[RegretRow],
    folder: Path,
    runs: Sequence[Path],
    speeds: Sequence[Speed],
) -> str:
    """Write the card of a selector in a folder."""
    conditions = dict(selector.conditions)
    problem = problem_type_name(selector.contraction)
    return _CARD.format(
        problem=problem,
        device=plain(conditions.get("device", "an unknown device")),
        kernels=len(selector.portfolio),
        conditions="\n".join(
            f"| {plain(name)} | {plain(text)} |" for name, text in selector.conditions
        ),
        sizes=rows[0].regret.sizes if rows else 0,
        rules="\n".join(_rule(row) for row in rows),
        chooses="a map of the measured sizes, then " + _rule_of(selector),
        command=next_command(selector, folder),
        made_by=_made_by(runs),
        speeds=", ".join(f"{each.label} in {each.seconds * 1e3:.3g} ms" for each in speeds),
    )


def warn_of_others(folder: Path, runs: Sequence[Path]) -> None:
    """Say so, before the fits, if other runs' pack in the default folder will be replaced."""
    card_file = folder / CARD_NAME
    if card_file.is_file() and _made_by(runs) not in card_file.read_text(encoding="utf-8"):
        _log.warning("%s: replaces a pack of other runs; with -o NAME it stays", folder)


def refuse_foreign_card(folder: Path) -> None:
    """Refuse a folder with a README.md that no card of a selector is.

    Raises:
        UsageError: when the card would replace it.
    """
    card_file = folder / CARD_NAME
    if card_file.is_file() and _MADE_BY not in card_file.read_bytes():
        raise UsageError(
            f"{card_file}: is no card of a selector, and would be replaced; -o names another "
            "folder"
        )


def _made_by(runs: Sequence[Path]) -> str:
    return f"`mltune distil {' '.join(map(shell_path, runs))}`"


def _rule_of(selector: Selector) -> str:
    if selector.formulas:
        return "a formula for the time of each kernel"
    return "a decision tree" if depth(selector.tree) else "one kernel for all others"


def _rule(row: RegretRow) -> str:
    regret = row.regret
    return (
        f"| {row.rule} | {regret.geomean:.4f} | {regret.p10:.4f} | {regret.worst:.4f} "
        f"| {regret.worst_size} | {row.within_5_percent:.0%} |"
    )
