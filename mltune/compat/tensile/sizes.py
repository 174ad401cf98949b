"""Tensile's problem sizes: `Exact` and `Range`, with an entry for every index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from mltune.errors import UsageError
from mltune.problem import Contraction, Size
from mltune.problem.size import MAX_SIZES
from mltune.space.yaml_document import Item

DEFAULT_STRIDE = 16


def read_sizes(item: Item, contraction: Contraction) -> tuple[Size, ...]:
    """Read the value of `ProblemSizes`; duplicates are dropped.

    Raises:
        UsageError: with the line of the first mistake.
    """
    sizes: list[Size] = []
    for entry in item.sequence("'ProblemSizes'"):
        for kind, extents in entry.mapping("a problem size").items():
            if kind not in _READERS:
                raise UsageError(f"{extents.where}: unknown '{kind}' (known: Range, Exact)")
            rows = _READERS[kind](extents, contraction.num_indices)
            sizes += (_size(row, contraction, extents.where) for row in rows)
            if len(sizes) > MAX_SIZES:
                raise UsageError(f"{extents.where}: more than {MAX_SIZES:,} sizes in all")
    if not sizes:
        raise UsageError(f"{item.where}: 'ProblemSizes' holds no size")
    return tuple(dict.fromkeys(sizes))


def _exact(item: Item, count: int) -> Iterator[tuple[int, ...]]:
    entries = _entries(item, "Exact", count)
    yield tuple(_whole(entry, "Exact: an extent", 1) for entry in entries)


def _range(item: Item, count: int) -> Iterator[tuple[int, ...]]:
    """Yield all combinations of the indices with own extents; tied indices follow them."""
    own: dict[int, tuple[int, ...]] = {}
    tied: dict[int, tuple[int, str]] = {}
    for index, entry in enumerate(_entries(item, "Range", count)):
        if isinstance(entry.content, tuple):
            own[index] = _extents(entry)
        else:
            other = _whole(entry, "Range: the number of the index that another is tied to", 0)
            tied[index] = (other, entry.where)
    for index, (other, where) in tied.items():
        if other not in own:
            raise UsageError(
                f"{where}: Range: index {index} is tied to index {other}, which has no extents "
                f"of its own (known: {', '.join(map(str, own)) or 'none'})"
            )
    total = 1
    for extents in own.values():
        total *= len(extents)
    if total > MAX_SIZES:
        raise UsageError(
            f"{item.where}: Range: {total:,} sizes, at most {MAX_SIZES:,} are allowed"
        )
    for row in product(*own.values()):
        chosen = dict(zip(own, row, strict=True))
        chosen |= {index: chosen[other] for index, (other, _) in tied.items()}
        yield tuple(chosen[index] for index in range(count))


_READERS = {"Exact": _exact, "Range": _range}


def _extents(item: Item) -> tuple[int, ...]:
    """`[one]`, `[start, stop]`, `[start, stride, stop]`, `[start, stride, growth, stop]`."""
    numbers = [_whole(entry, "Range: a number", 0) for entry in item.sequence("Range")]
    if not 1 <= len(numbers) <= 4:
        raise UsageError(
            f"{item.where}: Range: one to four numbers, [start, stride, growth, stop], "
            f"got {len(numbers)}"
        )
    start, stop = numbers[0], numbers[-1]
    stride = numbers[1] if len(numbers) > 2 else DEFAULT_STRIDE
    growth = numbers[2] if len(numbers) > 3 else 0
    if start < 1 or stop < start:
        raise UsageError(f"{item.where}: Range: start must be 1 to stop, got {start} to {stop}")
    if stride < 1:
        raise UsageError(f"{item.where}: Range: the stride must be at least 1, got {stride}")
    extents = []
    extent = start
    while extent <= stop:
        extents.append(extent)
        if len(extents) > MAX_SIZES:
            raise UsageError(f"{item.where}: Range: more than {MAX_SIZES:,} extents")
        extent += stride
        stride += growth
    return tuple(extents)


def _entries(item: Item, kind: str, count: int) -> Sequence[Item]:
    entries = item.sequence(kind)
    if len(entries) != count:
        raise UsageError(
            f"{item.where}: {kind}: expected {count} entries, one for each index, "
            f"got {len(entries)}"
        )
    return entries


def _whole(item: Item, what: str, least: int) -> int:
    value = item.scalar(what)
    if not isinstance(value, int) or value < least:
        raise UsageError(
            f"{item.where}: {what} must be a whole number of at least {least}, got {value!r}"
        )
    return value


def _size(by_number: tuple[int, ...], contraction: Contraction, where: str) -> Size:
    """Convert extents by index number to the order of `problem_of_size`."""
    try:
        if not contraction.is_gemm:
            return Size(by_number)
        (m,), (n,) = contraction.free_indices_a, contraction.free_indices_b
        order = (m, n, *contraction.summation_indices, *contraction.batch_indices)
        return Size(tuple(by_number[index] for index in order))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
