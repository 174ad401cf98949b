"""The selector: a portfolio of kernels, a tree or time formulas over sizes, and exact sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mltune.counted import counted
from mltune.errors import UsageError
from mltune.problem import Contraction, problem_type_name
from mltune.selector.features import (
    FEATURES,
    OTHER_FEATURES,
    feature_of,
    feature_value,
    within,
)
from mltune.selector.formula import (
    INT64_MAX,
    TimeFormula,
    fastest,
    has_times,
    padding,
    work_limit,
)
from mltune.selector.rival import Rival, share_of
from mltune.space.config import Config

MAX_DEPTH = 100
"""The most splits on a path: C99 guarantees 127 nested blocks, and Python code that follows a tree
recursively stays far from its limit.
"""

MAX_KERNELS = 40
"""The most kernels of a portfolio, unless another number is asked for."""

LIKELY_PART = 5
"""A kernel that is expected to take a fifth more than the best is not likely to be the best.

On held-out sizes of five runs of an H200 (splits 100 and 101) the best of the first four has
0.9988 of the portfolio's best, without this limit 0.9989.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioKernel:
    """A kernel that ships: enough to generate its source again.

    Raises:
        UsageError: when the name cannot be that of an OpenCL function.
    """

    name: str
    family: str
    config: Config
    source_hash: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name):
            raise UsageError(
                f"selector: a kernel's name must be letters, digits and _, got {self.name!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafLoss:
    """The loss of a leaf, and its evidence.

    Attributes:
        sizes: number of measured sizes in the leaf.
        geomean: geometric mean of best time / chosen time on these, each judged by a fit that did
            not see it; None if there are none.
        worst: its minimum, likewise.
        expected: the same geometric mean by the teacher's times, on sizes that the tree did not
            learn from; None without such sizes, or without a teacher.
    """

    sizes: int
    geomean: float | None = None
    worst: float | None = None
    expected: float | None = None

    @property
    def text(self) -> str:
        """Return one line for a comment."""
        parts = [f"{counted(self.sizes, 'size')} measured"]
        if self.geomean is None or self.worst is None:
            parts = ["no size measured"]
        elif self.sizes == 1:
            parts.append(f"{self.geomean:.3f}")
        else:
            parts.append(f"{self.geomean:.3f}, worst {self.worst:.3f}")
        if self.expected is not None:
            parts.append(f"expected {self.expected:.3f}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a path: the number of a kernel in the portfolio, and the loss there.

    Attributes:
        rival: another kernel, which takes some of the sizes; None for no other.
    """

    kernel: int
    loss: LeafLoss | None = None
    rival: Rival | None = None

    @property
    def kernels(self) -> tuple[int, ...]:
        """The numbers of one kernel or two."""
        return (self.kernel,) if self.rival is None else (self.kernel, self.rival.kernel)


@dataclass(frozen=True, slots=True)
class Split:
    """A split: is the feature at most the threshold? Then `low`, else `high`.

    Raises:
        UsageError: when the feature is unknown, or every size is on one side of the threshold.
    """

    feature: str
    threshold: int
    low: Tree
    high: Tree

    def __post_init__(self) -> None:
        if feature_of(self.feature) is None:
            raise UsageError(
                f"selector: unknown feature {self.feature!r} (known: {', '.join(FEATURES)}, "
                f"{OTHER_FEATURES})"
            )
        if not 0 <= self.threshold < INT64_MAX:
            raise UsageError(
                f"selector: a threshold must be from 0 to 2^63 - 2, got {self.threshold}"
            )


Tree = Leaf | Split

_Steps = Leaf | tuple[int, int, "_Steps", "_Steps"]
"""A leaf, or the place of a feature, the threshold, and what follows on each side."""


class Reason(StrEnum):
    """Why a kernel was chosen."""

    EXACT = "exact size"
    FORMULAS = "time formulas"
    TREE = "tree"
    LEARNED = "learned"


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel for a size, and the reason."""

    kernel: PortfolioKernel
    index: int
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """The loss of a selector on sizes that it was not fitted to.

    A regret is time of the chosen kernel / time of the best known kernel - 1.

    Attributes:
        sizes: number of held-out sizes that were judged.
        geomean: geometric mean of best time / chosen time, 1 = perfect.
        p10: its 10th percentile over the sizes (the bad end).
        worst: its minimum.
        worst_size: the size of that, as `MxNxK`.
    """

    sizes: int
    geomean: float
    p10: float
    worst: float
    worst_size: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Chooses a kernel for sizes that are not in the map.

    Attributes:
        tree: for every size; if there are formulas, for sizes beyond them.
        formulas: none, or one for each kernel: the kernel with the least time is taken.
        teacher: none, or the formulas by which kernels of one leaf are compared.
    """

    tree: Tree
    formulas: tuple[TimeFormula, ...] = ()
    teacher: tuple[TimeFormula, ...] = ()
    _padding: int = field(init=False, repr=False, compare=False)
    _limit: int = field(init=False, repr=False, compare=False)
    _follow: Callable[[int, int, int, int], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_follow", _follower(self.tree, self.teacher))
        object.__setattr__(self, "_padding", padding(self.formulas) if self.formulas else 0)
        object.__setattr__(self, "_limit", work_limit(self.formulas) if self.formulas else -1)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it is made of: results in the cache have rules, but no functions."""
        return Rule, (self.tree, self.formulas, self.teacher)

    def choose(self, m: int, n: int, k: int, batch: int = 1) -> tuple[int, Reason]:
        """Return a kernel's number, and the reason; any whole numbers are allowed."""
        m, n, k, batch = within(m, n, k, batch)
        if self.formulas and has_times(m, n, k, batch, pad=self._padding, limit=self._limit):
            return fastest(self.formulas, m, n, k, batch), Reason.FORMULAS
        return self._follow(m, n, k, batch), Reason.TREE

    def likely(self, m: int, n: int, k: int, batch: int = 1) -> tuple[int, ...]:
        """Return the kernels that formulas expect to be the fastest, the best first.

        None is a fifth slower than the best; there are none where formulas do not answer.
        """
        m, n, k, batch = within(m, n, k, batch)
        if not has_times(m, n, k, batch, pad=self._padding, limit=self._limit):
            return ()
        times = [formula.femtoseconds(m, n, k, batch) for formula in self.formulas]
        most = min(times) + min(times) // LIKELY_PART
        order = sorted(range(len(times)), key=times.__getitem__)
        return tuple(number for number in order if times[number] <= most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Chooses a kernel for a size, for one problem type on one device.

    Attributes:
        contraction: the problem type, as the user named it (not made canonical).
        tree: for every size; if there are formulas, for sizes beyond them.
        formulas: none, or one for each of the portfolio's first kernels; the others are for exact
            sizes only.
        teacher: none, or the same formulas of a taught tree's teacher. They compare the two
            kernels of a leaf; a program that learns in use tries the kernels with the least time
            by them.
        exact: the map: sizes (m, n, k, batch) with a kernel's number.
        rule: tree and formulas, which choose for all other sizes.
        regret: None if there were too few sizes to hold any out.
        conditions: of the measurements (device, driver, date, sizes, statistic), as text.

    Raises:
        UsageError: when a kernel's number is not in the portfolio, the tree is deeper than
            `MAX_DEPTH`, there are formulas, but neither one nor an exact size for a kernel, there
            are formulas and a teacher, a leaf compares kernels without formulas, or an exact size,
            a kernel or a condition stands twice.
    """

    contraction: Contraction
    portfolio: tuple[PortfolioKernel, ...]
    tree: Tree
    formulas: tuple[TimeFormula, ...] = ()
    teacher: tuple[TimeFormula, ...] = ()
    exact: tuple[tuple[tuple[int, int, int, int], int], ...] = ()
    regret: Regret | None = None
    conditions: tuple[tuple[str, str], ...] = ()
    _exact_map: dict[tuple[int, int, int, int], Choice] = field(
        init=False, repr=False, compare=False, hash=False
    )
    _by_tree: tuple[Choice, ...] = field(init=False, repr=False, compare=False, hash=False)
    rule: Rule = field(init=False, repr=False, compare=False, hash=False)
    _expected: Rule = field(init=False, repr=False, compare=False, hash=False)

    def __repr__(self) -> str:  # one line: a tree is pages long
        name = problem_type_name(self.contraction)
        return f"<Selector {name}, {counted(len(self.portfolio), 'kernel')}>"

    def __post_init__(self) -> None:
        self._check()
        # To make an object takes as long as to find an exact size.
        exact, by_tree = (
            tuple(Choice(kernel, number, reason) for number, kernel in enumerate(self.portfolio))
            for reason in (Reason.EXACT, Reason.TREE)
        )
        object.__setattr__(self, "_exact_map", {size: exact[i] for size, i in self.exact})
        object.__setattr__(self, "_by_tree", by_tree)
        rule = Rule(self.tree, self.formulas, self.teacher)
        object.__setattr__(self, "rule", rule)
        expected = Rule(Leaf(0), formulas=self.teacher) if self.teacher else rule
        object.__setattr__(self, "_expected", expected)

    @property
    def device(self) -> str:
        """The device that it was tuned for; empty if that is unknown."""
        return dict(self.conditions).get("device", "")

    def is_for(self, device: str) -> bool:
        """Whether it was tuned for a device of this name, as far as it says."""
        return self.device in ("", device)

    def choose(self, m: int, n: int, k: int, batch: int = 1) -> Choice:
        """Return the kernel for a size; any whole numbers are allowed, also 0 and below."""
        exact = self._exact_map.get((m, n, k, batch))
        if exact is not None:
            return exact
        index, reason = self.rule.choose(m, n, k, batch)
        if reason is Reason.TREE:
            return self._by_tree[index]
        return Choice(self.portfolio[index], index, reason)

    def likely(self, m: int, n: int, k: int, batch: int = 1) -> tuple[int, ...]:
        """Return the kernels that formulas expect to be the fastest, the best first.

        Those are its own or its teacher's. None is a fifth slower than the best; there are none
        where formulas do not answer.
        """
        return self._expected.likely(m, n, k, batch)

    def _check(self) -> None:
        if not self.portfolio:
            raise UsageError("selector: the portfolio is empty")
        _refuse_twice("kernel", [kernel.name for kernel in self.portfolio])
        _refuse_twice("exact size", [size for size, _ in self.exact])
        _refuse_twice("condition", [name for name, _ in self.conditions])
        if (deepest := depth(self.tree)) > MAX_DEPTH:
            raise UsageError(
                f"selector: the tree asks {deepest} questions on a path, at most {MAX_DEPTH}"
            )
        for index in (*leaves(self.tree), *(number for _, number in self.exact)):
            if not 0 <= index < len(self.portfolio):
                raise UsageError(
                    f"selector: kernel number {index} is not in the portfolio of "
                    f"{len(self.portfolio)}"
                )
        mapped = {number for _, number in self.exact}
        rest = set(range(len(self.formulas), len(self.portfolio)))
        if self.formulas and (len(self.formulas) > len(self.portfolio) or not rest <= mapped):
            raise UsageError(
                f"selector: {len(self.formulas)} formulas for {len(self.portfolio)} kernels"
            )
        if self.teacher and (self.formulas or len(self.teacher) > len(self.portfolio)):
            raise UsageError(
                f"selector: {len(self.teacher)} formulas of a teacher for {len(self.portfolio)} "
                f"kernels and {len(self.formulas)} formulas"
            )
        compared = [leaf.kernels for leaf in ends(self.tree) if leaf.rival is not None]
        for pair in compared:
            if max(pair) >= len(self.teacher) or pair[0] == pair[1]:
                raise UsageError(
                    f"selector: a leaf compares kernels {pair[0]} and {pair[1]} by "
                    f"{len(self.teacher)} formulas of a teacher"
                )


def _refuse_twice(what: str, names: Sequence[object]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise UsageError(f"selector: {what} {name} stands twice")
        seen.add(name)


def walk(tree: Tree, values: dict[str, int]) -> int:
    """Follow a tree from the root to a leaf and return the leaf's own kernel number."""
    while isinstance(tree, Split):
        is_low = feature_value(values, tree.feature) <= tree.threshold
        tree = tree.low if is_low else tree.high
    return tree.kernel


def _follower(tree: Tree, teacher: Sequence[TimeFormula]) -> Callable[[int, int, int, int], int]:
    """Return a function that follows a tree for extents from 0 to 2^63 - 1.

    It computes a feature when a split first asks for it, and takes less than half of the time of
    `walk` with all features.
    """
    places: dict[str, int] = {}

    def prepared(node: Tree) -> _Steps:
        if isinstance(node, Leaf):
            return node
        place = places.setdefault(node.feature, len(places))
        return place, node.threshold, prepared(node.low), prepared(node.high)

    root = prepared(tree)
    found = map(feature_of, places)
    asked = tuple(feature for feature in found if feature is not None)  # as `Split` has checked
    share = share_of(teacher) if teacher else None

    def follow(m: int, n: int, k: int, batch: int) -> int:
        values: list[int | None] = [None] * len(asked)
        node = root
        while isinstance(node, tuple):
            place, threshold, low, high = node
            value = values[place]
            if value is None:
                value = values[place] = asked[place](m, n, k, batch)
            node = low if value <= threshold else high
        rival = node.rival
        if rival is None or share is None:
            return node.kernel
        is_slow = share(node.kernel, rival.kernel, m, n, k, batch) > rival.threshold
        return rival.kernel if is_slow else node.kernel

    return follow


def nodes(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """Yield every node with its depth, parents first and `low` before `high`."""
    ahead = [(tree, 0)]  # a list, so that deep trees do not reach the recursion limit
    while ahead:
        node, level = ahead.pop()
        yield node, level
        if isinstance(node, Split):
            ahead += [(node.high, level + 1), (node.low, level + 1)]


def ends(tree: Tree) -> Iterator[Leaf]:
    """Yield all leaves, from left to right."""
    return (node for node, _ in nodes(tree) if isinstance(node, Leaf))


def leaves(tree: Tree) -> tuple[int, ...]:
    """Return the kernel numbers of all leaves, from left to right; of two in a leaf both."""
    return tuple(number for leaf in ends(tree) for number in leaf.kernels)


def depth(tree: Tree) -> int:
    """Return the number of splits on the longest path."""
    return max(level for _, level in nodes(tree))
