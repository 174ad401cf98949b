"""Tensile's kernel parameters, and what each of their values means in the family `tiled`.

A value becomes settings: some of our parameters with numbers or words. `complete` makes a config
of all settings of a kernel, and finds what they leave open as Tensile does. Our own parameters
are understood by their own names, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mltune.errors import UsageError
from mltune.kernel.tiled.parameters import RULES
from mltune.protocol.protocol import Choice, Group
from mltune.space.config import Config, Value
from mltune.space.domain import unknown
from mltune.space.yaml_document import Item

MACRO_TILE = "MacroTile"
AUTOMATIC = -1
"""As in Tensile: the value that follows from the others."""

WIDEST_VECTOR = 4
LONGEST_UNROLL = 4
"""Of what is left open: terms per step; a full unroll was slower on every device so far."""

DEFAULT_DEPTH_U = 16

Read = Callable[[Item, str], dict[str, Value]]


@dataclass(frozen=True, slots=True)
class Key:
    """How the values of one parameter are read.

    Attributes:
        sets: our parameters that it is about.
    """

    sets: tuple[str, ...]
    read: Read


def read_value(name: str, item: Item) -> Config:
    """Read one value of a parameter as settings.

    Raises:
        UsageError: with the line, when there is no such parameter here, or not with this value.
    """
    if name in _FIXED:
        _check_fixed(name, item)
        return Config(())
    if name in KEYS:
        return Config.of(KEYS[name].read(item, name))
    if name in RULES:
        return Config.of({name: item.scalar(name)})
    if name in _ABSENT:
        raise UsageError(f"{item.where}: {name} is not supported: it has no counterpart here")
    raise UsageError(f"{item.where}: {unknown('parameter', name, parameter_names())}")


def parameter_names() -> tuple[str, ...]:
    """All names that `read_value` accepts."""
    return (*KEYS, *_FIXED, *RULES)


def possible_values(choices: Iterable[Choice]) -> dict[str, tuple[Value, ...]]:
    """Everything that each parameter of a completed config can come to, more rather than less."""
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
    }
    for name, more in derived.items():
        if name in found:
            found[name] = (found[name] | more) - {AUTOMATIC}
    return {name: tuple(sorted(found[name], key=str)) for name in RULES if name in found}


def joined_value(name: str, config: Config) -> tuple[Value, ...]:
    """What a parameter named under `JoinParameters` comes to in a kernel.

    Raises:
        UsageError: when there is no such parameter.
    """
    if name == MACRO_TILE:
        return tuple(
            config.int(f"work_group_{axis}") * config.int(f"thread_tile_{axis}") for axis in (0, 1)
        )
    sets = KEYS[name].sets if name in KEYS else (name,)
    if not all(one in RULES for one in sets):
        raise UsageError(unknown("parameter", name, (MACRO_TILE, *KEYS, *RULES)))
    return tuple(config.get(one, "") for one in sets)


def complete(settings: Mapping[str, Value]) -> Config:
    """Make the config of a kernel: defaults, then settings, then what these leave open."""
    values: dict[str, Value] = {**_DEFAULTS, **settings}
    split = _number(values, "local_split_u")
    if values["depth_u"] == AUTOMATIC:
        unroll = values["loop_unroll"]
        is_given = isinstance(unroll, int) and unroll != AUTOMATIC
        values["depth_u"] = _number(values, "loop_unroll") * split if is_given else DEFAULT_DEPTH_U
    slice_terms = max(1, _number(values, "depth_u") // max(1, split))
    if values["loop_unroll"] == AUTOMATIC:
        values["loop_unroll"] = _largest_power(LONGEST_UNROLL, slice_terms)
    if values["vector_width"] == AUTOMATIC:
        tile = (_number(values, "thread_tile_0"), _number(values, "thread_tile_1"))
        values["vector_width"] = min(_largest_power(WIDEST_VECTOR, extent) for extent in tile)
    if values["prefetch_local_read"] == AUTOMATIC:
        values["prefetch_local_read"] = int(_number(values, "loop_unroll") % 2 == 0)
    if values.get("local_pad_b") == AUTOMATIC:
        values["local_pad_b"] = values["local_pad"]
    if values.get("global_to_local") == "async":
        values["prefetch_global_read"] = 0  # the copies themselves run ahead
        values["local_buffers"] = max(2, _number(values, "local_buffers", 2))
    elif "local_buffers" in values and not values["prefetch_global_read"]:
        values["local_buffers"] = 1  # the second one is for what is prefetched
    return Config.of(values)


def level(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Give every kernel of several groups the same parameters.

    One that any group names begins with the family's own default in all of them.
    """
    read = tuple(groups)
    choices = (choice for group in read for choice in group.choices)
    named = {name for choice in choices for value in choice.values for name in value}
    if "global_to_local" in named:
        named.add("local_buffers")  # as copies past the registers need two
    values = {name: RULES[name].default for name in sorted(named - set(_DEFAULTS))}
    given = Config.of({name: value for name, value in values.items() if value is not None})
    if not given:
        return read
    first = Choice("the family's defaults", (given,))
    return tuple(replace(group, initial=(first, *group.initial)) for group in read)


def flag(item: Item, what: str) -> bool:
    """Read True, False, 1 or 0.

    Raises:
        UsageError: when it is none of them.
    """
    word = str(item.scalar(what)).lower()
    if word not in ("true", "false", "1", "0"):
        raise UsageError(f"{item.where}: {what}: True or False, got '{item.scalar(what)}'")
    return word in ("true", "1")


def _number(values: Mapping[str, Value], name: str, default: int = 1) -> int:
    value = values.get(name, default)
    return value if isinstance(value, int) else default


def _largest_power(limit: int, extent: int) -> int:
    """The largest power of two, at most `limit`, that divides `extent`."""
    width = limit
    while extent % width:
        width //= 2
    return width


def _whole(parameter: str, *, least: int = 1, automatic: int | None = None) -> Key:
    """A whole number; -1, where it may be that, stands for `automatic`."""

    def read(item: Item, name: str) -> dict[str, Value]:
        value = item.scalar(name)
        if value == AUTOMATIC and automatic is not None:
            return {parameter: automatic}
        if not isinstance(value, int) or value < least:
            raise UsageError(
                f"{item.where}: {name}: {value} is not supported: whole numbers of at least "
                f"{least}{'' if automatic is None else ', or -1'}"
            )
        return {parameter: value}

    return Key((parameter,), read)


def _extents(parameter: str, count: int) -> Key:
    """A shape: numbers along d0 and d1, and of slices of the sum where there are three."""
    names = (f"{parameter}_0", f"{parameter}_1", "local_split_u")[:count]

    def read(item: Item, name: str) -> dict[str, Value]:
        numbers = [entry.scalar(name) for entry in item.sequence(name)]
        if len(numbers) != count or not all(isinstance(one, int) and one > 0 for one in numbers):
            raise UsageError(f"{item.where}: {name}: {count} numbers of at least 1, got {numbers}")
        return dict(zip(names, numbers, strict=True))

    return Key(names, read)


def _switch(parameter: str, off: Value, on: Value) -> Key:
    return Key((parameter,), lambda item, name: {parameter: on if flag(item, name) else off})


def _word(parameter: str, words: Mapping[str, Value]) -> Key:
    def read(item: Item, name: str) -> dict[str, Value]:
        word = str(item.scalar(name))
        if word not in words:
            raise UsageError(
                f"{item.where}: {name}: '{word}' is not supported (known: {', '.join(words)})"
            )
        return {parameter: words[word]}

    return Key((parameter,), read)


KEYS: dict[str, Key] = {
    "WorkGroup": _extents("work_group", 3),
    "ThreadTile": _extents("thread_tile", 2),
    "DepthU": _whole("depth_u", automatic=AUTOMATIC),
    "LoopUnroll": _whole("loop_unroll"),
    "VectorWidth": _whole("vector_width", automatic=AUTOMATIC),
    "GlobalReadVectorWidth": _whole("global_read_vector_width", automatic=0),
    "PrefetchGlobalRead": _switch("prefetch_global_read", 0, 1),
    "PrefetchLocalRead": _switch("prefetch_local_read", 0, 1),
    "WorkGroupMapping": _whole("work_group_mapping"),
    "LdsPadA": _whole("local_pad", least=0),
    "LdsPadB": _whole("local_pad_b", least=0),
    "1LDSBuffer": _switch("local_buffers", 2, 1),
    "MACInstruction": _word("multiply_add", {"FMA": "fma", "MAD": "mad"}),
    "DirectToLds": _switch("global_to_local", "registers", "async"),
}
"""Tensile's parameters that vary here."""

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
"""Tensile's, for what a file does not say; what is not here has the family's own default."""

_BRANCH = "the rim of C is always handled by branches"
_SHARED_SUM = "work-groups share no sum"
_COALESCED = "neighbouring work-items always read neighbouring elements"
_FIXED: dict[str, tuple[str, str]] = {
    "EdgeType": ("Branch", _BRANCH),
    "KernelLanguage": ("Source", "kernels are written in OpenCL C"),
    "LoopTail": ("True", "every number of terms is computed"),
    "LoopDoWhile": ("False", "a sum may have fewer terms than DepthU"),
    "GlobalSplitU": ("1", _SHARED_SUM),
    "NumLoadsCoalescedA": ("1", _COALESCED),
    "NumLoadsCoalescedB": ("1", _COALESCED),
    "GlobalReadCoalesceGroupA": ("True", _COALESCED),
    "GlobalReadCoalesceGroupB": ("True", _COALESCED),
    "GlobalReadCoalesceVectorA": ("True", "a vector is always read whole"),
    "GlobalReadCoalesceVectorB": ("True", "a vector is always read whole"),
    "AssertFree0ElementMultiple": ("1", "every kernel takes every size"),
    "AssertFree1ElementMultiple": ("1", "every kernel takes every size"),
    "AssertSummationElementMultiple": ("1", "every kernel takes every size"),
    "PersistentKernel": ("0", "a work-group computes one tile"),
    "StaggerU": ("0", "all work-groups begin with the first terms"),
    "InnerUnroll": ("1", "LoopUnroll says how many terms a step has"),
}
"""Tensile's parameters that have one value here, and why."""

_ABSENT = frozenset(
    {
        "AggressivePerfMode", "AtomicAddC", "BufferLoad", "BufferStore", "CheckDimOverflow",
        "CheckTensorDimAsserts", "CustomKernelName", "DepthULdsDivisor", "DirectToVgprA",
        "DirectToVgprB", "DisableAtomicFail", "DisableKernelPieces", "DisableVgprOverlapping",
        "ExpandPointerSwap", "FractionalLoad", "GlobalRead2A", "GlobalRead2B", "GlobalReadPerMfma",
        "GlobalSplitUAlgorithm", "GlobalSplitUSummationAssignmentRoundRobin",
        "GlobalSplitUWorkGroupMappingRoundRobin", "GroupLoadStore", "ISA", "InterleaveAlpha",
        "LdsBlockSizePerPad", "LocalDotLayout", "LocalRead2A", "LocalRead2B",
        "LocalReadVectorWidth", "LocalWrite2A", "LocalWrite2B", "LocalWritePerMfma",
        "MIArchVgpr", "MacroTileShapeMax", "MacroTileShapeMin", "MagicDivAlg", "MatrixInstruction",
        "MaxOccupancy", "NonTemporalA", "NonTemporalB", "NonTemporalC", "NonTemporalD",
        "NumElementsPerBatchStore", "OptNoLoadLoop", "PackBatchDims", "PackFreeDims",
        "PackGranularity", "PackSummationDims", "PerformanceSyncLocation", "PerformanceWaitCount",
        "PerformanceWaitLocation", "PersistentKernelAlongBatch", "PrefetchAcrossPersistent",
        "ReplacementKernel", "ScheduleGlobalRead", "ScheduleIterAlg", "ScheduleLocalWrite",
        "SourceSwap", "StaggerUMapping", "StaggerUStride", "StoreCInUnroll",
        "StoreRemapVectorWidth", "StoreSyncOpt", "StoreVectorWidth", "SuppressNoLoadLoop",
        "ThreadSeparateGlobalReadA", "ThreadSeparateGlobalReadB", "TransposeLDS",
        "UnrollIncIsDepthU", "UnrollMemFence", "Use64bShadowLimit", "UseInstOffsetForGRO",
        "UseSgprForGRO", "VectorAtomicWidth", "VectorStore", "WaveSeparateGlobalReadA",
        "WaveSeparateGlobalReadB", "WavefrontSize", "WorkGroupMappingType",
    }
)  # fmt: skip
"""Tensile's other parameters: most are about AMD's assembly."""


def _check_fixed(name: str, item: Item) -> None:
    wanted, reason = _FIXED[name]
    value = str(item.scalar(name))
    same = {"True": ("True", "true", "1"), "False": ("False", "false", "0")}
    if value not in same.get(wanted, (wanted,)):
        raise UsageError(
            f"{item.where}: {name}: {value} is not supported: {reason} (supported: {wanted})"
        )
