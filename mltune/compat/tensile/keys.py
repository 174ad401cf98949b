"""Tensile's kernel parameters, and what each of their values means in the family `tiled`.

A value becomes settings: some of our parameters with numbers or words. Our own parameters are
understood by their own names, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mltune.compat.tensile.complete import AUTOMATIC
from mltune.compat.tensile.fixed import ABSENT, FIXED, check_fixed
from mltune.errors import UsageError
from mltune.kernel.tiled.parameters import RULES
from mltune.space.config import Config, Value
from mltune.space.domain import unknown
from mltune.space.yaml_document import Item

MACRO_TILE = "MacroTile"
SPLIT_ALGORITHMS: Mapping[str, Value] = {
    "MultipleBuffer": "multiple",
    "MultipleBufferSingleKernel": "multiple_single_kernel",
    "SingleBuffer": "single",
}

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
    if name in FIXED:
        check_fixed(name, item)
        return Config(())
    if name in KEYS:
        return Config.of(KEYS[name].read(item, name))
    if name in RULES:
        return Config.of({name: item.scalar(name)})
    if name in ABSENT:
        raise UsageError(f"{item.where}: {name} is not supported: it has no counterpart here")
    raise UsageError(f"{item.where}: {unknown('parameter', name, parameter_names())}")


def parameter_names() -> tuple[str, ...]:
    """All names that `read_value` accepts."""
    return (*KEYS, *FIXED, *RULES)


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


def flag(item: Item, what: str) -> bool:
    """Read True, False, 1 or 0.

    Raises:
        UsageError: when it is none of them.
    """
    word = str(item.scalar(what)).lower()
    if word not in ("true", "false", "1", "0"):
        raise UsageError(f"{item.where}: {what}: True or False, got '{item.scalar(what)}'")
    return word in ("true", "1")


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
    "GlobalSplitU": _whole("global_split_u"),
    "GlobalSplitUAlgorithm": _word("global_split_u_algorithm", SPLIT_ALGORITHMS),
    "GlobalSplitUSummationAssignmentRoundRobin": _switch(
        "global_split_u_summation_assignment_round_robin", 0, 1
    ),
    "GlobalSplitUWorkGroupMappingRoundRobin": _switch(
        "global_split_u_work_group_mapping_round_robin", 0, 1
    ),
    "NonTemporalA": _switch("non_temporal_a", 0, 1),
    "NonTemporalB": _switch("non_temporal_b", 0, 1),
    "NonTemporalC": _switch("non_temporal_c", 0, 1),
    "StaggerU": _whole("stagger_u", least=0),
    "StaggerUMapping": _whole("stagger_u_mapping", least=0),
    "StaggerUStride": _whole("stagger_u_stride"),
    "PersistentKernel": _whole("persistent_kernel", least=0),
    "StreamK": _switch("stream_k", 0, 1),
    "DirectToVgprA": _switch("direct_to_registers_a", 0, 1),
    "DirectToVgprB": _switch("direct_to_registers_b", 0, 1),
    "MACInstruction": _word("multiply_add", {"FMA": "fma", "MAD": "mad"}),
    "DirectToLds": _switch("global_to_local", "registers", "async"),
}
"""Tensile's parameters that vary here."""
