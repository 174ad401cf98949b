"""The selection in Python: exact sizes in a mapping, and the tree as nested ifs."""

from __future__ import annotations

from collections.abc import Iterator

from mltune.export.block import Block, block_of, features_of
from mltune.selector import FEATURES, Selector

_EXPRESSIONS = {
    "m": "_clamp(m)",
    "n": "_clamp(n)",
    "k": "_clamp(k)",
    "batch": "_clamp(batch)",
    "mn": "min(m * n, _LIMIT)",
    "mk": "min(m * k, _LIMIT)",
    "nk": "min(n * k, _LIMIT)",
    "mnk": "min(m * n * k, _LIMIT)",
    "m_per_n": "m // max(n, 1)",
    "n_per_m": "n // max(m, 1)",
    "k_per_m": "k // max(m, 1)",
    "k_per_n": "k // max(n, 1)",
}


def exact_sizes(selector: Selector) -> str:
    """The mapping from exact sizes to kernel numbers."""
    if not selector.exact:
        return "{}"
    rows = (f"    {size}: {kernel},\n" for size, kernel in sorted(selector.exact))
    return "{\n" + "".join(rows) + "}"


def body(selector: Selector) -> str:
    """The statements that walk over the tree."""
    used = features_of(selector.tree)
    needed = {size for name in used - {"batch"} for size in "mnk" if size in name} | used
    lines = [f"    {name} = {_EXPRESSIONS[name]}" for name in FEATURES if name in needed]
    return "\n".join([*lines, *_lines(block_of(selector.tree), 1)])


def _lines(block: Block, level: int) -> Iterator[str]:
    pad = "    " * level
    for guard in block.guards:
        yield f"{pad}if {guard.condition}:"
        yield from _lines(guard.block, level + 1)
    yield f"{pad}return {block.kernel}"
