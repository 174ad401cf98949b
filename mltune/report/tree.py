"""The tree, drawn from left to right: a question, its answers, and kernels at the ends."""

from __future__ import annotations

from collections.abc import Iterator

from mltune.report.markup import Markup, join, tag
from mltune.report.plot import CHARACTER, picture, text
from mltune.report.speed import kernel_class, kernel_letter
from mltune.selector import Leaf, Split, Tree, depth, ends, nodes

_GAP, _ROW = 28, 34


def draw_tree(tree: Tree) -> Markup:
    """Draw the picture; the upper branch is for the answer yes."""
    count = sum(1 for _ in ends(tree))
    longest = max(
        (len(_words(each)) for each, _ in nodes(tree) if isinstance(each, Split)), default=0
    )
    box = max(112, 8 + int(longest * CHARACTER))
    width, height = 60 + (box + _GAP) * depth(tree), 16 + _ROW * count
    parts, _ = _draw(tree, 8, box, iter(range(count)))
    drawn = picture("The decision tree", width, height, parts, css="tree")
    return tag(
        "div", drawn, class_="scroll tall", style=f"--wide:{width}px", tabindex="0",
        role="region", aria_label="The tree",
    )  # fmt: skip


def _words(node: Split) -> str:
    return f"{node.feature} ≤ {node.threshold}"


def _draw(node: Tree, x: int, box: int, rows: Iterator[int]) -> tuple[Markup, float]:
    """Draw a node with its subtree, questions in boxes; return also its vertical place."""
    if isinstance(node, Leaf):
        y = 8.0 + _ROW * (next(rows) + 0.5)
        css = kernel_class(node.kernel)
        end = tag("rect", x=x, y=y - 11, width=34, height=22, rx=5, class_=f"mark {css}")
        letters = " ".join(map(kernel_letter, node.kernels))
        return join(end, text(x + 17, y + 4, letters, anchor="middle", css=f"letter {css}")), y
    start, bend, right = x + box, x + box + _GAP // 2, x + box + _GAP
    low, y = _draw(node.low, right, box, rows)  # level with its node: both are in view together
    high, high_y = _draw(node.high, right, box, rows)
    branches = [
        tag(
            "path",
            d=f"M{start} {y:.1f}C{bend} {y:.1f} {bend} {to:.1f} {right} {to:.1f}",
            class_="branch",
        )
        for to in (y, high_y)
    ]
    question = join(
        tag("rect", x=x, y=y - 11, width=box, height=22, rx=5, class_="question"),
        text(x + box / 2, y + 4, _words(node), anchor="middle"),
    )
    return join(*branches, question, low, high), y
