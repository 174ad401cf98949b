"""The selection in Python: exact sizes in a mapping, and the tree as nested ifs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from mltune.export.block import block_of, feature_texts, nested
from mltune.export.formulas import plan
from mltune.export.python.text import DIALECT
from mltune.selector import MOST_EXTENT, Selector, padding, work_limit


def exact_sizes(selector: Selector) -> str:
    """Return the mapping from exact sizes to kernel numbers."""
    if not selector.exact:
        return "{}"
    rows = (f"    {size}: {kernel},\n" for size, kernel in sorted(selector.exact))
    return "{\n" + "".join(rows) + "}"


def body(selector: Selector) -> str:
    """Return the statements that choose for sizes outside the map."""
    features = feature_texts(selector.tree, DIALECT, "{0} if {0} < {1} else {1}")
    lines = [f"    {name} = {text}" for name, text in features.items()]
    if selector.formulas:
        lines += _by_time(selector)
    lines += nested(block_of(selector.tree), DIALECT.text, ("if {}:", "", "return {}"), "  # {}")
    return "\n".join(lines)


def usual(selector: Selector) -> str:
    """Return a quick test that is true for most sizes, which then need no exact check."""
    most = str(_within(selector)) if selector.formulas else "_LIMIT"
    asked = " and ".join(f"0 <= {size} <= {most}" for size in ("m", "n", "k", "batch"))
    return f"usual = {asked}"


def _within(selector: Selector) -> int:
    """Return an extent up to which every size's work is within the formulas' limit."""
    limit = work_limit(selector.formulas)
    return math.isqrt(math.isqrt(limit)) - padding(selector.formulas)


def _by_time(selector: Selector) -> Iterator[str]:
    """Return the code for the kernel with the least time, for sizes whose times C can compute."""
    planned = plan(selector.formulas)
    pad, limit = padding(selector.formulas), work_limit(selector.formulas)
    yield "    if usual or ("
    yield f"        max(m, n, k, batch) <= {MOST_EXTENT}"
    yield f"        and (m + {pad}) * (n + {pad}) * (k + {pad}) * max(batch, 1) <= {limit}"
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
