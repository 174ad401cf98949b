"""A selector as a JSON file, written by `distil`, read by `export` and the runtime."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mltune.errors import UsageError, naming
from mltune.files import make_folder, write_atomically
from mltune.problem import Contraction
from mltune.selector.checked import Checked, read_json
from mltune.selector.features import FEATURES, OTHER_FEATURES, feature_of
from mltune.selector.formula import INT64_MAX, TimeFormula, Waves
from mltune.selector.rival import PARTS, Rival
from mltune.selector.selector import (
    Leaf,
    LeafLoss,
    PortfolioKernel,
    Regret,
    Selector,
    Split,
    Tree,
    nodes,
)
from mltune.space.config import Config

FORMAT = "mltune selector"
SCHEMA_VERSION = 2
"""Version 1 had no formulas; it can still be read."""


def write_selector(selector: Selector, path: Path) -> None:
    """Write a selector; a reader sees the old or the new file, never a part.

    Raises:
        MltuneError: when the file cannot be written.
    """
    make_folder(path.parent)
    write_atomically(path, _text(selector_data(selector)).encode())


def selector_data(selector: Selector) -> dict[str, Any]:
    """Return the content of a selector's file."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "contraction": selector.contraction.name,
        "conditions": dict(selector.conditions),
        "regret": None if selector.regret is None else asdict(selector.regret),
        "portfolio": [
            {
                "name": kernel.name,
                "family": kernel.family,
                "config": kernel.config.to_json(),
                "source_hash": kernel.source_hash,
            }
            for kernel in selector.portfolio
        ],
        "tree": _flat(selector.tree),
        "formulas": [asdict(formula) for formula in selector.formulas],
        **({"teacher": [asdict(each) for each in selector.teacher]} if selector.teacher else {}),
        "exact": [[*size, kernel] for size, kernel in selector.exact],
    }


def read_selector(path: Path) -> Selector:
    """Read what `write_selector` wrote; everything in the file is checked.

    Raises:
        UsageError: when it is no such file, with the field that is wrong.
    """
    return selector_of(read_document(path))


def read_document(path: Path) -> Checked:
    """Read a file that `write_selector` may have written, for `selector_of`.

    Raises:
        UsageError: when it is no JSON, or says that it is something else or of another version.
    """
    document = read_json(path)
    fields = dict(document.items())
    if "format" not in fields or fields["format"].value != FORMAT:
        raise UsageError(f"{path}: not a selector that `mltune distil` wrote")
    if "schema_version" in fields and not _is_first(document):
        fields["schema_version"].exactly(SCHEMA_VERSION)
    return document


def contraction_of(document: Checked) -> Contraction:
    """Return the problem type that a file names; the rest of it is not checked.

    Raises:
        UsageError: when it names none.
    """
    field = dict(document.items()).get("contraction")
    if field is None:
        return selector_of(document).contraction  # raises the reason
    with naming(Path(document.file)):
        return Contraction.from_name(field.text())


def selector_of(document: Checked) -> Selector:
    """Return the selector of a file; everything in it is checked.

    Raises:
        UsageError: when a field is wrong.
    """
    fields = document.fields(
        "format",
        "schema_version",
        "contraction",
        "conditions",
        "regret",
        "portfolio",
        "tree",
        *(() if _is_first(document) else ("formulas",)),
        "exact",
        optional=("teacher",),  # which came later
    )
    with naming(Path(document.file)):
        portfolio = tuple(_kernel(entry) for entry in fields["portfolio"].entries())
        if not portfolio:
            fields["portfolio"].fail("at least one kernel")
        return Selector(
            contraction=Contraction.from_name(fields["contraction"].text()),
            portfolio=portfolio,
            tree=_tree(fields["tree"], len(portfolio)),
            formulas=_formulas(fields.get("formulas")),
            teacher=_formulas(fields.get("teacher")),
            exact=tuple(_exact(entry, len(portfolio)) for entry in fields["exact"].entries()),
            regret=None if fields["regret"].value is None else _regret(fields["regret"]),
            conditions=tuple((name, text.text()) for name, text in fields["conditions"].items()),
        )


def _is_first(document: Checked) -> bool:
    """Whether a file has the first version, without formulas."""
    version = document.value.get("schema_version")
    return type(version) is int and version == 1


def _text(data: dict[str, Any]) -> str:
    """Write JSON with one line for every kernel, node and size, so that files can be compared."""
    entries = []
    for name, value in data.items():
        if isinstance(value, list):
            lines = (json.dumps(entry, allow_nan=False) for entry in value)
            text = "[\n    " + ",\n    ".join(lines) + "\n  ]" if value else "[]"
        else:
            text = json.dumps(value, allow_nan=False, indent=2).replace("\n", "\n  ")
        entries.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _flat(tree: Tree) -> list[dict[str, Any]]:
    """Return the nodes with the root first and every child after its parent."""
    order: list[dict[str, Any]] = []
    parents: list[tuple[dict[str, Any], str]] = []
    for node, _ in nodes(tree):
        if parents:
            parent, side = parents.pop()
            parent[side] = len(order)
        if isinstance(node, Leaf):
            rival = {} if node.rival is None else {"rival": asdict(node.rival)}
            loss = {} if node.loss is None else {"loss": asdict(node.loss)}
            order.append({"kernel": node.kernel, **rival, **loss})
            continue
        entry = {"feature": node.feature, "threshold": node.threshold, "low": 0, "high": 0}
        order.append(entry)
        parents += [(entry, "high"), (entry, "low")]
    return order


def _tree(field: Checked, kernels: int) -> Tree:
    """Build the tree from the last node to the first, so that children exist before parents."""
    entries = field.entries()
    if not entries:
        field.fail("at least one node")
    built: dict[int, Tree] = {}
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        if isinstance(entry.value, dict) and "kernel" in entry.value:
            built[number] = _leaf(entry, kernels)
            continue
        parts = entry.fields("feature", "threshold", "low", "high")
        children = []
        for side in (parts["low"], parts["high"]):
            # A child comes after its parent and is used once: no cycles, nothing shared.
            child = built.pop(side.value, None) if type(side.value) is int else None
            if child is None:
                side.fail("the number of a later node that has no other parent")
            children.append(child)
        feature, threshold = parts["feature"].text(), parts["threshold"].whole(0, INT64_MAX - 1)
        if feature_of(feature) is None:
            parts["feature"].fail(f"one of {', '.join(FEATURES)}, {OTHER_FEATURES}")
        built[number] = Split(feature, threshold, *children)
    root = built.pop(0)
    if built:
        raise UsageError(f"{entries[min(built)].where}: no other node leads here")
    return root


def _leaf(entry: Checked, kernels: int) -> Leaf:
    fields = entry.fields("kernel", optional=("rival", "loss"))
    rival = None
    if "rival" in fields:
        parts = fields["rival"].fields("kernel", "threshold")
        threshold = parts["threshold"].whole(0, PARTS - 1)
        rival = Rival(parts["kernel"].whole(0, kernels - 1), threshold)
    loss = _leaf_loss(fields["loss"]) if "loss" in fields else None
    return Leaf(fields["kernel"].whole(0, kernels - 1), loss, rival)


def _leaf_loss(entry: Checked) -> LeafLoss:
    fields = entry.fields("sizes", "geomean", "worst", "expected")
    parts = {
        name: None if fields[name].value is None else fields[name].number(0, 1)
        for name in ("geomean", "worst", "expected")
    }
    return LeafLoss(sizes=fields["sizes"].whole(0, INT64_MAX), **parts)


def _kernel(entry: Checked) -> PortfolioKernel:
    fields = entry.fields("name", "family", "config", "source_hash")
    config = {}
    for name, value in fields["config"].items():
        whole = type(value.value) is int
        config[name] = value.whole(-INT64_MAX, INT64_MAX) if whole else value.text()
    return PortfolioKernel(
        name=fields["name"].text(),
        family=fields["family"].text(),
        config=Config.of(config),
        source_hash=fields["source_hash"].text(),
    )


def _exact(entry: Checked, kernels: int) -> tuple[tuple[int, int, int, int], int]:
    *extents, kernel = entry.entries(length=5)
    m, n, k, batch = (extent.whole(1, INT64_MAX) for extent in extents)
    return (m, n, k, batch), kernel.whole(0, kernels - 1)


def _formulas(field: Checked | None) -> tuple[TimeFormula, ...]:
    """Read the formulas; none where the file has no such field."""
    return () if field is None else tuple(map(_formula, field.entries()))


def _formula(entry: Checked) -> TimeFormula:
    """Read a formula; fields with a default are newer, and may be missing."""
    known = dataclasses.fields(TimeFormula)
    newer = [field.name for field in known if field.default is not dataclasses.MISSING]
    older = [field.name for field in known if field.default is dataclasses.MISSING]
    parts = entry.fields(*older, optional=newer)
    values: dict[str, Any] = {}
    for name, field in parts.items():
        if name in ("waves", "odd_waves"):
            values[name] = _waves(field)
        elif name in ("multiples", "result_multiples", "narrowed"):
            length = 2 if name == "result_multiples" else 3
            values[name] = tuple(_rate(each) for each in field.entries(length=length))
        else:
            values[name] = _rate(field)
    return TimeFormula(**values)


def _waves(entry: Checked) -> tuple[Waves, ...]:
    names = [field.name for field in dataclasses.fields(Waves)]
    terms = [term.fields(*names) for term in entry.entries()]
    return tuple(Waves(**{name: _rate(term[name]) for name in names}) for term in terms)


def _rate(field: Checked) -> int:
    return field.whole(0, INT64_MAX)


def _regret(entry: Checked) -> Regret:
    fields = entry.fields("sizes", "geomean", "p10", "worst", "worst_size")
    return Regret(
        sizes=fields["sizes"].whole(1, INT64_MAX),
        geomean=fields["geomean"].number(0, 1),
        p10=fields["p10"].number(0, 1),
        worst=fields["worst"].number(0, 1),
        worst_size=fields["worst_size"].text(),
    )
