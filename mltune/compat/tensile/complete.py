"""Completes the settings of a kernel to a config: defaults, and values that depend on others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mltune.compat.tensile.protocol import Choice, Group
from mltune.kernel.arithmetic import largest_width
from mltune.kernel.parameters.shared import AUTOMATIC
from mltune.kernel.parameters.tiled import TILED
from mltune.space.config import Config, Value

WIDEST_VECTOR = 4
LONGEST_UNROLL = 4
"""The most terms per step if the file does not say; a full unroll was slower on every device so
far.
"""

DEFAULT_DEPTH_U = 16

_DEFAULTS: dict[str, Value] = {
    "work_group_0": 16,
    "work_group_1": 16,
    "local_split_u": 1,
    "thread_tile_0": 4,
    "thread_tile_1": 4,
    "depth_u": AUTOMATIC,
    "loop_unroll": AUTOMATIC,
    "vector_width": AUTOMATIC,
    "prefetch_global_read": 1,
    "prefetch_local_read": AUTOMATIC,
    "work_group_mapping": 8,
    "local_pad": 0,
    "multiply_add": "fma",
    "vector_access": "cast",
}
"""Tensile's defaults; parameters that are missing here have the family's own default."""

MAY_BE_OPEN = frozenset(
    {"local_pad_b", *(name for name, value in _DEFAULTS.items() if value == AUTOMATIC)}
)
"""The parameters that `complete` computes where they are -1."""


def complete(settings: Mapping[str, Value]) -> Config:
    """Make the config of a kernel: defaults, then settings, then values that depend on them."""
    values: dict[str, Value] = {**_DEFAULTS, **settings}
    split = _number(values, "local_split_u")
    if values["depth_u"] == AUTOMATIC:
        unroll = values["loop_unroll"]
        is_given = isinstance(unroll, int) and unroll != AUTOMATIC
        values["depth_u"] = _number(values, "loop_unroll") * split if is_given else DEFAULT_DEPTH_U
    slice_terms = max(1, _number(values, "depth_u") // max(1, split))
    if values["loop_unroll"] == AUTOMATIC:
        values["loop_unroll"] = largest_width(LONGEST_UNROLL, slice_terms)
    if values["vector_width"] == AUTOMATIC:
        tile = (_number(values, "thread_tile_0"), _number(values, "thread_tile_1"))
        values["vector_width"] = min(largest_width(WIDEST_VECTOR, extent) for extent in tile)
    if values["prefetch_local_read"] == AUTOMATIC:
        values["prefetch_local_read"] = int(_number(values, "loop_unroll") % 2 == 0)
    if values.get("local_pad_b") == AUTOMATIC:
        values["local_pad_b"] = values["local_pad"]
    if values.get("stream_k"):
        values["persistent_kernel"] = max(1, _number(values, "persistent_kernel", 0))
    if values.get("global_to_local") == "async":
        values["prefetch_global_read"] = 0  # the copies run ahead by themselves
        values["local_buffers"] = max(2, _number(values, "local_buffers", 2))
    elif "local_buffers" in values and not values["prefetch_global_read"]:
        values["local_buffers"] = 1  # the second buffer is for prefetched tiles
    return Config.of(values)


def level(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Give all kernels of several groups the same parameters.

    A parameter that any group names starts with the family's own default in all of them.
    """
    read = tuple(groups)
    choices = (choice for group in read for choice in group.choices)
    named = {name for choice in choices for value in choice.values for name in value}
    if "global_to_local" in named:
        named.add("local_buffers")  # as copies past the registers need two buffers
    if "stream_k" in named:
        named.add("persistent_kernel")  # as this needs work-groups with several tiles
    given = Config.of(
        {name: TILED.defaults[name] for name in named - set(_DEFAULTS) if name in TILED.defaults}
    )
    if not given:
        return read
    first = Choice("the family's defaults", (given,))
    return tuple(replace(group, initial=(first, *group.initial)) for group in read)


def possible_values(choices: Iterable[Choice]) -> dict[str, tuple[Value, ...]]:
    """Return values of each parameter that include all that completed configs can have."""
    found: dict[str, set[Value]] = {name: {value} for name, value in _DEFAULTS.items()}
    for choice in choices:
        for settings in choice.values:
            for name, value in settings.items():
                found.setdefault(name, set()).add(value)
    unrolls, splits = (
        {value for value in found[name] if isinstance(value, int) and value > 0}
        for name in ("loop_unroll", "local_split_u")
    )
    derived: dict[str, set[Value]] = {
        "depth_u": {DEFAULT_DEPTH_U, *(unroll * split for unroll in unrolls for split in splits)},
        "loop_unroll": {1, 2, LONGEST_UNROLL},
        "vector_width": {1, 2, WIDEST_VECTOR},
        "prefetch_local_read": {0, 1},
        "prefetch_global_read": {0, 1},
        "local_pad_b": found["local_pad"],
        "local_buffers": {1, 2},
        "persistent_kernel": {0, 1},
    }
    for name, more in derived.items():
        if name in found:
            found[name] = (found[name] | more) - {AUTOMATIC}
    return {name: in_order(found[name]) for name in TILED.by_name if name in found}


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Sort the values of a parameter: numbers by size, then words."""
    return tuple(sorted(values, key=lambda value: (isinstance(value, str), value)))


def _number(values: Mapping[str, Value], name: str, default: int = 1) -> int:
    value = values.get(name, default)
    return value if isinstance(value, int) else default
