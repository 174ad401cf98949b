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
    compare_used,
    compared,
    features_of,
    returned,
)
from mltune.export.formulas import Count, plan
from mltune.export.python.text import DIALECT
from mltune.export.template import fill
from mltune.selector import MOST_EXTENT, Selector, TimeFormula, padding, work_limit
from mltune.selector.rival import MOST_TIME, SHIFT
from mltune.selector.rival import PARTS as SHARE_PARTS
from mltune.selector.tiling import CAP, CAPPED, WANTED, Tiling, tiling
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
    asked = features_of(selector.tree)
    capped = {name: size for name, size in CAPPED.items() if name in asked}
    lines = [f"    {name} = {size}" for name, size in capped.items()]
    if selector.formulas:
        most = _within(selector.formulas)
        usual = " and ".join(f"0 <= {size} <= {most}" for size in _SIZES)
        lines += [f"    usual = {usual}", "    if not usual:"]
    else:
        most_usual = f"< {CAP}" if capped else "<= _LIMIT"
        lines.append(f"    if not 0 <= {' | '.join(_SIZES)} {most_usual}:")
    lines.append(
        "        m, n, k, batch = (min(max(size, 0), _LIMIT) for size in (m, n, k, batch))"
    )
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
        lines += [f"    {count.name} = {_counted(count)}" for count in planned.counts]
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

    def tiles(counted: Tiling) -> Node:
        name = f"tiles_{counted.rows}x{counted.columns}"
        if name in known:
            return Name(name)
        columns = product(_cover(Name("capped_n"), counted.columns), Name("capped_batch"))
        rows = once(f"rows_{counted.rows}", _cover(Name("capped_m"), counted.rows))
        return once(name, product(once(f"columns_{counted.columns}", columns), rows))

    def waves(counted: Tiling) -> Node:
        if counted.slots == 1:
            return tiles(counted)
        name = f"waves_{counted.rows}x{counted.columns}_{counted.slots}"
        return Name(name) if name in known else once(name, _cover(tiles(counted), counted.slots))

    threshold = Number(guard.threshold)
    value = FEATURE_VALUES.get(guard.feature)
    if value is not None:
        return guard.compare(once(guard.feature, value), threshold)
    counted = tiling(guard.feature)
    if counted is None:
        return guard.condition
    if counted.kind == "tiles":
        return guard.compare(tiles(counted), threshold)
    if counted.kind == "waves":
        return guard.compare(waves(counted), threshold)
    if counted.kind == "idle":
        missing = Operation("-", (Number(0), tiles(counted)))
        return guard.compare(Operation("%", (missing, Number(counted.slots))), threshold)
    wanted = once("wanted", WANTED)
    return compare_used(guard, counted, waves(counted), wanted)


def _cover(size: Node, part: int) -> Node:
    """Return size / part, rounded up: faster in Python than two changes of sign."""
    if part == 1:
        return size
    return Operation("//", (Operation("+", (size, Number(part - 1))), Number(part)))


def _counted(count: Count) -> str:
    """Write the value of a count."""
    match count.value:
        case Operation("ceil_div", (size, Number(part))):
            return DIALECT.text(_cover(size, part))
    return DIALECT.text(count.value)


def _within(formulas: Sequence[TimeFormula]) -> int:
    """Return an extent up to which every size's work is within the formulas' limit."""
    return math.isqrt(math.isqrt(work_limit(formulas))) - padding(formulas)


def _work_within(pad: int, limit: int) -> str:
    return (
        f"max(m, n, k, batch) <= {MOST_EXTENT}\n"
        f"and (m + {pad}) * (n + {pad}) * (k + {pad}) * max(batch, 1) <= {limit}"
    )


def _by_time(selector: Selector) -> Iterator[str]:
    """Yield the code for the kernel with the least time, for sizes whose times C can compute."""
    planned = plan(selector.formulas)
    pad, limit = padding(selector.formulas), work_limit(selector.formulas)
    yield "    if usual or ("
    yield textwrap.indent(_work_within(pad, limit), " " * 8)
    yield "    ):"
    yield from (f"        {count.name} = {_counted(count)}" for count in planned.counts)
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
