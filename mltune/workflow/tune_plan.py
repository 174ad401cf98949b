"""The plan of `mltune tune`: problem types, sizes, families, and each type's share of the time.

A fifth of the searches' time is shared evenly, the rest by the cost of each problem type for the
program: by the seconds of a trace, else by the device's roofline, else by the operations and bytes
of the calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mltune.counted import counted
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError
from mltune.problem import Contraction, Problem, Size, problem_of_size, problem_type_name
from mltune.problem.calls import Calls
from mltune.runner.capacity import fits, refuse_precisions
from mltune.runner.roofline import roofline_seconds
from mltune.workflow.chosen_spaces import choose_spaces

SEARCHING = 0.8
"""Of the whole time; the rest is for distilling and comparing."""

EVEN = 0.2
"""Of the searches' time; shared evenly."""

MOST_SIZES = 64
"""The most sizes that are searched for a problem type, the most costly ones; the rule serves
others.
"""

_FLOPS, _BYTES = 1e12, 1e11
"""Per second, for a device whose peaks are unknown; only their ratio matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One problem type of a plan.

    Attributes:
        sizes: to search on, with counts; empty for the suite of the device's kind.
        seconds: that the program took for all calls of each size; empty if unknown.
        calls: of the program, on all its sizes; 0 if unknown.
        covered: the share of the cost that the sizes make up.
        share: of the searches' time.
        families: of kernels to search.
        interfaces: that the program calls; empty if unknown.
    """

    contraction: Contraction
    sizes: tuple[Size, ...] = ()
    seconds: tuple[float, ...] = ()
    calls: int = 0
    covered: float = 1.0
    share: float = 1.0
    families: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The problem type's name."""
        return problem_type_name(self.contraction)

    @property
    def is_counted(self) -> bool:
        """Whether the number of calls of each size is known."""
        return self.calls > 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "problem": self.name,
            "sizes": [size.to_json() for size in self.sizes],
            "seconds": list(self.seconds),
            "calls": self.calls,
            "covered": self.covered,
            "share": self.share,
            "families": list(self.families),
            "interfaces": list(self.interfaces),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A problem type, or sizes of one, that are not tuned."""

    what: str
    reason: str


def plan_of_calls(
    calls: Sequence[Calls], device: DeviceInfo, spaces: tuple[str, ...]
) -> tuple[tuple[Part, ...], tuple[LeftOut, ...]]:
    """Plan for the calls of a program.

    Args:
        calls: merged.
        device: to tune for.
        spaces: names and paths, as for a search.

    Raises:
        UsageError: when nothing is left to tune.
    """
    measured = all(each.seconds is not None for each in calls)
    by_type: dict[Contraction, list[Calls]] = {}
    for each in calls:
        by_type.setdefault(each.contraction, []).append(each)
    parts: list[Part] = []
    costs: list[float] = []
    left_out: list[LeftOut] = []
    for contraction, group in by_type.items():
        name = problem_type_name(contraction)
        fitting = [each for each in group if fits(_problem(each), device)]
        if len(fitting) < len(group):
            too_large = len(group) - len(fitting)
            what = f"{counted(too_large, 'size')} of {name}"
            left_out.append(LeftOut(what=what, reason="too large"))
        families, reason = _families(contraction, device, spaces)
        if reason or not fitting:
            left_out.append(LeftOut(what=name, reason=reason or "no size fits on the device"))
            continue
        by_size = _costs(fitting, device, measured)
        order = sorted(by_size, key=lambda size: -by_size[size])[:MOST_SIZES]
        total = math.fsum(by_size.values())
        parts.append(
            Part(
                contraction=contraction,
                sizes=tuple(order),
                seconds=tuple(by_size[size] for size in order) if measured else (),
                calls=sum(size.count for size in by_size),
                covered=math.fsum(by_size[size] for size in order) / total if total else 1.0,
                families=families,
                interfaces=tuple(sorted({each.interface for each in fitting} - {""})),
            )
        )
        costs.append(total)
    return shared_out(parts, costs, left_out), tuple(left_out)


def plan_of_types(
    contractions: Iterable[Contraction],
    sizes: tuple[Size, ...],
    device: DeviceInfo,
    spaces: tuple[str, ...],
) -> tuple[tuple[Part, ...], tuple[LeftOut, ...]]:
    """Plan for problem types, each with an equal share.

    Args:
        contractions: the problem types.
        sizes: for all of them; empty for the suite of the device's kind.
        device: to tune for.
        spaces: names and paths, as for a search.

    Raises:
        UsageError: when nothing is left to tune.
    """
    parts, left_out = [], []
    for contraction in contractions:
        families, reason = _families(contraction, device, spaces)
        if reason:
            left_out.append(LeftOut(what=problem_type_name(contraction), reason=reason))
        else:
            parts.append(Part(contraction=contraction, sizes=sizes, families=families))
    return shared_out(parts, [1.0] * len(parts), left_out), tuple(left_out)


def shared_out(
    parts: Sequence[Part], costs: Sequence[float], left_out: Sequence[LeftOut]
) -> tuple[Part, ...]:
    """Assign each part its share, and sort by cost.

    Raises:
        UsageError: when there are none.
    """
    if not parts:
        reasons = "; ".join(f"{each.what}: {each.reason}" for each in left_out)
        raise UsageError(f"tune: nothing is left to tune ({reasons})")
    total = math.fsum(costs)
    even = 1 / len(parts)
    shares = [EVEN * even + (1 - EVEN) * (cost / total if total else even) for cost in costs]
    pairs = sorted(zip(shares, parts, strict=True), key=lambda pair: -pair[0])
    return tuple(replace(part, share=share) for share, part in pairs)


def _costs(calls: Iterable[Calls], device: DeviceInfo, measured: bool) -> Mapping[Size, float]:
    """Return each size's cost for the program, in seconds if all its calls were timed."""
    counts: dict[tuple[int, ...], int] = {}
    costs: dict[tuple[int, ...], float] = {}
    for each in calls:
        extents, cost = each.size.extents, each.seconds
        if cost is None or not measured:
            cost = each.size.count * expected_seconds(_problem(each), device)
        counts[extents] = counts.get(extents, 0) + each.size.count
        costs[extents] = costs.get(extents, 0.0) + cost
    return {Size(extents, counts[extents]): cost for extents, cost in costs.items()}


def expected_seconds(problem: Problem, device: DeviceInfo) -> float:
    """Return a product's time by the roofline, with typical peaks if the device's are unknown."""
    bound = roofline_seconds(problem, device)
    if bound is not None:
        return bound
    wide = problem.contraction.precision.bytes / 4
    return max(problem.flops * wide / _FLOPS, problem.bytes / _BYTES)


def _problem(calls: Calls) -> Problem:
    return problem_of_size(calls.contraction, calls.size.extents)


def _families(
    contraction: Contraction, device: DeviceInfo, spaces: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """Return the kernel families to search, or the reason why there are none."""
    try:
        refuse_precisions((contraction.precision,), device)
        chosen = choose_spaces(spaces, device, contraction)
    except (UsageError, NoDeviceError) as error:
        return (), str(error)
    return tuple(dict.fromkeys(each.family for each in chosen)), ""
