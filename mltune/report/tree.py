"""The tree, drawn from left to right: a question, its answers, and kernels at the ends."""

from __future__ import annotations

from collections.abc import Iterator

from mltune.report.markup import Markup, join, tag
from mltune.report.plot import picture, text
from mltune.report.speed import kernel_class, kernel_letter
from mltune.selector import Leaf, Tree, depth, ends

_STEP, _ROW = 140, 34


def draw_tree(tree: Tree) -> Markup:
    """Draw the picture; the upper branch is for the answer yes."""
    count = sum(1 for _ in ends(tree))
    width, height = 60 + _STEP * depth(tree), 16 + _ROW * count
    parts, _ = _draw(tree, 0, iter(range(count)))
    drawn = picture("The decision tree", width, height, parts, css="tree")
    return tag(
        "div", drawn, class_="scroll tall", style=f"--wide:{width}px", tabindex="0",
        role="region", aria_label="The tree",
    )  # fmt: skip


def _draw(node: Tree, level: int, rows: Iterator[int]) -> tuple[Markup, float]:
    """Draw a node with its subtree; return also its vertical place."""
    x = 8 + level * _STEP
    if isinstance(node, Leaf):
        y = 8.0 + _ROW * (next(rows) + 0.5)
        css = kernel_class(node.kernel)
        box = tag("rect", x=x, y=y - 11, width=34, height=22, rx=5, class_=f"mark {css}")
        letters = " ".join(map(kernel_letter, node.kernels))
        return join(box, text(x + 17, y + 4, letters, anchor="middle", css=f"letter {css}")), y
    low, y = _draw(node.low, level + 1, rows)  # level with its node: both are in view together
    high, high_y = _draw(node.high, level + 1, rows)
    right = x + _STEP
    start, bend = x + 112, x + 126
    branches = [
        tag(
            "path",
            d=f"M{start} {y:.1f}C{bend} {y:.1f} {bend} {to:.1f} {right} {to:.1f}",
            class_="branch",
        )
        for to in (y, high_y)
    ]
    question = join(
        tag("rect", x=x, y=y - 11, width=112, height=22, rx=5, class_="question"),
        text(x + 56, y + 4, f"{node.feature} ≤ {node.threshold}", anchor="middle"),
    )
    return join(*branches, question, low, high), y
