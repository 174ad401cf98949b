"""The selection in Python: exact sizes in a mapping, and the tree as nested ifs.

The first condition on a path that needs a feature, or a count that features share, computes it and
keeps it in a variable for the conditions after it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from mltune.export.block import (
    FEATURE_VALUES,
    Block,
    Guard,
    block_of,
    compared,
    features_of,
    returned,
)
from mltune.export.formulas import plan
from mltune.export.python.text import DIALECT
from mltune.export.template import fill
from mltune.selector import MOST_EXTENT, Selector, TimeFormula, padding, work_limit
from mltune.selector.rest import rest_expression, rest_tile
from mltune.selector.rival import MOST_TIME, SHIFT
from mltune.selector.rival import PARTS as SHARE_PARTS
from mltune.selector.tiling import CAP, CAPPED, PARTS, Tiling, tiling
from mltune.space.expression import Name, Node, Number, Operation, names, product

_SIZES = ("m", "n", "k", "batch")
_COMPARED = Path(__file__).parent / "templates" / "compared.py.in"


def exact_sizes(selector: Selector) -> str:
    """Return the mapping from exact sizes to kernel numbers."""
    if not selector.exact:
        return "{}"
    rows = (f"    {size}: {kernel},\n" for size, kernel in sorted(selector.exact))
    return "{\n" + "".join(rows) + "}"


def body(selector: Selector) -> str:
    """Return the statements that choose for sizes outside the map."""
    usual = {
        size: _within(selector.formulas) if selector.formulas else "_LIMIT" for size in _SIZES
    }
    asked = features_of(selector.tree)
    capped = {name: size for name, size in CAPPED.items() if name in asked}
    if not selector.formulas:
        usual |= dict.fromkeys(capped.values(), CAP)
    lines = [f"    {name} = {size}" for name, size in capped.items()]
    lines += [
        "    usual = " + " and ".join(f"0 <= {size} <= {most}" for size, most in usual.items()),
        "    if not usual:",
        "        m, n, k, batch = (min(max(size, 0), _LIMIT) for size in (m, n, k, batch))",
    ]
    lines += [f"        {name} = min({size}, {CAP})" for name, size in capped.items()]
    if selector.formulas:
        lines += _by_time(selector)
    lines += _nested(block_of(selector.tree), set())[0]
    return "\n".join(lines)


def compared_kernels(selector: Selector) -> str:
    """Return the functions by which a leaf compares two kernels; nothing if no leaf does."""
    numbers = compared(selector.tree)
    if not numbers:
        return ""
    functions = []
    for number in numbers:
        planned = plan([selector.teacher[number]], halves=False)
        lines = [f"def _time_{number}(m: int, n: int, k: int, batch: int) -> int:"]
        lines += [f"    {count.name} = {DIALECT.text(count.value)}" for count in planned.counts]
        time = textwrap.fill(DIALECT.text(planned.times[0]), 84)
        lines += ["    return (", textwrap.indent(time, " " * 8), "    )"]
        functions.append("\n".join(lines))
    pad, limit = padding(selector.teacher), work_limit(selector.teacher)
    values = {
        "functions": "\n\n\n".join(functions),
        "times": ", ".join(f"{number}: _time_{number}" for number in numbers),
        "within": str(_within(selector.teacher)),
        "work_within": textwrap.indent(_work_within(pad, limit), " " * 12),
        "half": str(SHARE_PARTS // 2),
        "parts": str(SHARE_PARTS),
        "shift": str(SHIFT),
        "most": str(MOST_TIME),
    }
    return fill(_COMPARED, values)


def _nested(block: Block, known: set[str], level: int = 1) -> tuple[list[str], set[str]]:
    """Return the lines of nested ifs, and the names in their conditions.

    Args:
        block: what to write.
        known: the variables that conditions before it set.
        level: of the indentation.
    """
    pad = "    " * level
    parts = []
    for guard in block.guards:
        condition = _condition(guard, known)
        parts.append((condition, *_nested(guard.block, known.copy(), level + 1)))
    loss = block.leaf.loss
    value = returned(block.leaf, "{}", "_faster_of({}, {}, {}, m, n, k, batch)")
    lines = [f"{pad}return {value}" + ("" if loss is None else f"  # {loss.text}")]
    read = set[str]()
    for condition, inside, read_inside in reversed(parts):
        read |= read_inside
        kept = _without_unread(condition, read)
        read |= names(kept)
        lines = [f"{pad}if {DIALECT.text(kept)}:", *inside, *lines]
    return lines, read


def _without_unread(node: Node, read: set[str]) -> Node:
    """Return a condition that sets only variables which are read later."""
    if not isinstance(node, Operation):
        return node
    first, last = (_without_unread(each, read) for each in node.operands)
    if node.operator == ":=" and not names(first) <= read:
        return last
    return Operation(node.operator, (first, last))


def _condition(guard: Guard, known: set[str]) -> Node:
    """Return a guard's condition, and add the variables that it sets to the known ones."""

    def once(name: str, value: Node) -> Node:
        if name in known:
            return Name(name)
        known.add(name)
        return Operation(":=", (Name(name), value))

    def cover(word: str, size: str, part: int) -> Node:
        return Name(size) if part == 1 else once(f"{word}_{part}", _cover(Name(size), part))

    def tiles(counted: Tiling) -> Node:
        name = f"tiles_{counted.rows}x{counted.columns}"
        if name in known:
            return Name(name)
        rows = cover("rows", "capped_m", counted.rows)
        columns = cover("columns", "capped_n", counted.columns)
        return once(name, product(rows, columns, Name("capped_batch")))

    def waves(counted: Tiling) -> Node:
        if counted.slots == 1:
            return tiles(counted)
        name = f"waves_{counted.rows}x{counted.columns}_{counted.slots}"
        return Name(name) if name in known else once(name, _cover(tiles(counted), counted.slots))

    compare, threshold = "<=" if guard.at_most else ">", Number(guard.threshold)
    value = FEATURE_VALUES.get(guard.feature)
    if value is not None:
        return Operation(compare, (once(guard.feature, value), threshold))
    counted = tiling(guard.feature)
    if counted is None:
        tile = rest_tile(guard.feature)
        rest = Name(guard.feature) if tile is None else rest_expression(tile)
        return Operation(compare, (rest, threshold))
    if counted.kind == "tiles":
        return Operation(compare, (tiles(counted), threshold))
    if counted.kind == "waves":
        return Operation(compare, (waves(counted), threshold))
    if counted.kind == "idle":
        missing = Operation("-", (Number(0), tiles(counted)))
        return Operation(compare, (Operation("%", (missing, Number(counted.slots))), threshold))
    # x // (y + 1) <= t without a division: x <= (t + 1) * y + t
    wanted = once("wanted", product(*map(Name, CAPPED), Number(PARTS)))
    places = (guard.threshold + 1) * counted.slots * counted.rows * counted.columns
    most = Operation("+", (product(waves(counted), Number(places)), threshold))
    return Operation(compare, (wanted, most))


def _cover(size: Node, part: int) -> Node:
    """Return size / part, rounded up: faster in Python than two changes of sign."""
    return Operation("//", (Operation("+", (size, Number(part - 1))), Number(part)))


def _within(formulas: Sequence[TimeFormula]) -> int:
    """Return an extent up to which every size's work is within the formulas' limit."""
    return math.isqrt(math.isqrt(work_limit(formulas))) - padding(formulas)


def _work_within(pad: int, limit: int) -> str:
    return (
        f"max(m, n, k, batch) <= {MOST_EXTENT}\n"
        f"and (m + {pad}) * (n + {pad}) * (k + {pad}) * max(batch, 1) <= {limit}"
    )


def _by_time(selector: Selector) -> Iterator[str]:
    """Return the code for the kernel with the least time, for sizes whose times C can compute."""
    planned = plan(selector.formulas)
    pad, limit = padding(selector.formulas), work_limit(selector.formulas)
    yield "    if usual or ("
    yield textwrap.indent(_work_within(pad, limit), " " * 8)
    yield "    ):"
    yield from (f"        {count.name} = {DIALECT.text(count.value)}" for count in planned.counts)
    for number, time in enumerate(planned.times):
        name = "time" if number else "least"
        yield f"        {name} = ("
        yield textwrap.indent(textwrap.fill(DIALECT.text(time), 84), " " * 12)
        yield "        )"
        if number:
            yield "        if time < least:"
            yield "            least = time"
            yield f"            kernel = {number}"
        else:
            yield "        kernel = 0"
    yield "        return kernel"
