"""The default further sizes for the leaders: those of two suites, then mixtures of them.

The first few are spread over all: each next size is the one that most reduces the distances of
the suites' sizes to the nearest chosen size, measured between the logs of the sides.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from mltune.device_info import DeviceInfo
from mltune.problem import Contraction, Size, problem_of_size
from mltune.problem.sizes import parse_sizes
from mltune.runner.capacity import fits

Extents = tuple[int, ...]

AUTO, NONE = "auto", "none"
"""The values of `--cross-sizes` besides sizes."""

SHARE = 0.25
"""Of the time of a whole search, for the leaders: a third of the trials' time."""

_LARGEST, _LARGEST_ON_CPU = 10, 4
"""Times the work of the largest size of `spread`.

The first lets a GPU meet all products of a language model's layers with 2048 tokens. Their
operands exceed its cache several times, so that they show what a kernel reads again.
"""

MOST = 1000
"""The most sizes. A device that has met all of the suites before its time is over meets mixtures.

On 163 to 188 mixtures a teacher that knew 419 sizes of the suites had 0.980 of the best speed
(dgemm and hgemm on an H200); one that also knew three quarters of the mixtures had 0.983 and 0.985
on the others.
"""

_FAR = 1e3
"""In doublings: more than lie between any two sizes."""

_TRIES = 20 * MOST
"""Mixtures that are drawn at most, as few of them may fit on a small device."""

MANY = 50
"""With so many sizes to search on, no further ones are needed."""


def default_cross_sizes(
    contraction: Contraction, sizes: Sequence[Size], device: DeviceInfo
) -> tuple[Size, ...]:
    """Return the further sizes in the order in which the leaders are timed on them.

    There are none if the user named a single size or many, or gave numbers of calls: then only
    the named sizes matter. There are none for problems that the suites do not contain.

    Args:
        contraction: the problem type.
        sizes: that are searched on.
        device: sizes that are too large for it are left out.
    """
    is_counted = len({size.count for size in sizes}) > 1
    if not contraction.is_gemm or contraction.batch_indices or is_counted:
        return ()
    if not 1 < len(sizes) < MANY:
        return ()
    known = {size.extents[:3] for size in sizes}
    others = _others(f"{_spread(device)},models", contraction, known, device)
    if not others:
        return ()
    order = [others[number] for number in spread_order(others, sorted(known))]
    return tuple(map(Size, order + _mixed(others, known, contraction, device)))


def unseen_sizes(
    contraction: Contraction, seen: Sequence[Extents], device: DeviceInfo, seed: int
) -> tuple[Size, ...]:
    """Return the sizes of `models` that were not timed, in random order.

    Args:
        contraction: the problem type; there are none for a batched one.
        seen: extents, the first three of which count.
        device: sizes that are too large for it are left out.
        seed: of the order.
    """
    if not contraction.is_gemm or contraction.batch_indices:
        return ()
    others = _others("models", contraction, {each[:3] for each in seen}, device)
    random.Random(seed).shuffle(others)
    return tuple(map(Size, others))


def _spread(device: DeviceInfo) -> str:
    return "spread-cpu" if device.kind == "cpu" else "spread"


def _others(
    suites: str, contraction: Contraction, known: Set[Extents], device: DeviceInfo
) -> list[Extents]:
    """Return the extents in the suites that are new and not too large for the device."""
    by_design = [
        problem_of_size(contraction, size.extents) for size in parse_sizes(_spread(device))
    ]
    times = _LARGEST_ON_CPU if device.kind == "cpu" else _LARGEST
    largest = times * max(problem.flops for problem in by_design)
    return [
        size.extents
        for size in parse_sizes(suites)
        if size.extents not in known
        and (problem := problem_of_size(contraction, size.extents)).flops <= largest
        and fits(problem, device)
    ]


def _mixed(
    sizes: Sequence[Extents], known: Set[Extents], contraction: Contraction, device: DeviceInfo
) -> list[Extents]:
    """Return new sizes, up to `MOST` with the given ones: one extent is another size's.

    So programs use the layers of a network, with any number of tokens. The work of each is between
    the least and the most of the given ones.
    """
    chance = random.Random(0)
    work = [math.prod(size) for size in sizes]
    least, most = min(work), max(work)
    found = dict.fromkeys(sizes)
    for _ in range(_TRIES):
        if len(found) >= MOST:
            break
        one, other = chance.choices(sizes, k=2)
        axis = chance.randrange(3)
        mixed = (*one[:axis], other[axis], *one[axis + 1 :])
        is_new = mixed not in known and least <= math.prod(mixed) <= most
        if is_new and fits(problem_of_size(contraction, mixed), device):
            found.setdefault(mixed)
    return list(found)[len(sizes) :]


def spread_order(points: Sequence[Extents], taken: Sequence[Extents] = ()) -> tuple[int, ...]:
    """Return the indices of all points; each next one reduces the sum of all distances the most.

    Args:
        points: different extents.
        taken: other extents that were chosen before; if there are none, the first point is in the
            middle.
    """
    at, far = np.log2(np.array(points)), np.full(len(points), _FAR)
    if taken:
        before = np.log2(np.array(taken))
        far = np.linalg.norm(at[:, None] - before[None], axis=2).min(axis=1)

    # Not for all at once, as a file may have 100,000 sizes.
    def apart(number: int) -> NDArray[np.float64]:
        distances: NDArray[np.float64] = np.linalg.norm(at - at[number], axis=1)
        return distances

    def gain(number: int) -> float:
        return float(np.maximum(far - apart(number), 0).sum())

    # The gain of a point never grows, so an old value is an upper bound.
    bounds = [(-gain(number), number) for number in range(len(points))]
    heapq.heapify(bounds)
    order: list[int] = []
    while bounds:
        _, number = bounds[0]
        now = (-gain(number), number)
        if len(bounds) > 1 and now > min(bounds[1:3]):
            heapq.heapreplace(bounds, now)
            continue
        heapq.heappop(bounds)
        order.append(number)
        far = np.minimum(far, apart(number))
    return tuple(order)
