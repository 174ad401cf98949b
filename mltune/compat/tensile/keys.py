"""Tensile's kernel parameters, and the meaning of their values in the family `tiled`.

A value becomes settings: some of mltune's parameters with numbers or words. mltune's own
parameters are understood by their own names, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mltune.compat.tensile.complete import MAY_BE_OPEN
from mltune.compat.tensile.fixed import ABSENT, FIXED, check_fixed
from mltune.errors import UsageError
from mltune.kernel.parameters.param import IntParam, Param
from mltune.kernel.parameters.shared import AUTOMATIC
from mltune.kernel.parameters.tiled import TILED
from mltune.space.config import Config, Value
from mltune.space.yaml_document import Item
from mltune.unknown import unknown

MACRO_TILE = "MacroTile"


def _keys() -> dict[str, tuple[Param, ...]]:
    """Return Tensile's parameters that vary in mltune, with mltune's in the order of its list."""
    found: dict[str, list[Param]] = {}
    for param in TILED.params:
        if param.tensile is not None:
            found.setdefault(param.tensile.key, []).append(param)
    return {key: tuple(params) for key, params in found.items()}


KEYS = _keys()


def read_value(name: str, item: Item) -> Config:
    """Read one value of a parameter as settings.

    Raises:
        UsageError: with the line, when mltune has no such parameter or value.
    """
    if name in FIXED:
        check_fixed(name, item)
        return Config(())
    if name in KEYS:
        return Config.of(_read(name, KEYS[name], item))
    if name in TILED.by_name:
        return Config.of({name: _read_own(TILED.by_name[name], item)})
    if name in ABSENT:
        raise UsageError(f"{item.where}: {name} is not supported: it has no counterpart here")
    raise UsageError(f"{item.where}: {unknown('parameter', name, parameter_names())}")


def parameter_names() -> tuple[str, ...]:
    """All names that `read_value` accepts."""
    return (*KEYS, *FIXED, *TILED.by_name)


def joined_value(name: str, config: Config) -> tuple[Value, ...]:
    """Return the value in a kernel of a parameter that is named under `JoinParameters`.

    Raises:
        UsageError: when there is no such parameter.
    """
    if name == MACRO_TILE:
        return tuple(
            config.int(f"work_group_{axis}") * config.int(f"thread_tile_{axis}") for axis in (0, 1)
        )
    if name in KEYS:
        return tuple(config.get(param.name, "") for param in KEYS[name])
    if name not in TILED.by_name:
        raise UsageError(unknown("parameter", name, (MACRO_TILE, *KEYS, *TILED.by_name)))
    return (config.get(name, ""),)


def flag(item: Item, what: str) -> bool:
    """Read True, False, 1 or 0.

    Raises:
        UsageError: when it is none of them.
    """
    word = str(item.scalar(what)).lower()
    if word not in ("true", "false", "1", "0"):
        raise UsageError(f"{item.where}: {what}: True or False, got '{item.scalar(what)}'")
    return word in ("true", "1")


def spelt(values: Mapping[str, Value]) -> dict[str, Any]:
    """Write the values of parameters as Tensile does, its own names first.

    A value that Tensile cannot express is under mltune's name, which `read_value` understands.
    """
    left = dict(values)
    written: dict[str, Any] = {}
    for key, params in KEYS.items():
        words = [_spelt(param, left[param.name]) for param in params if param.name in left]
        if len(words) == len(params) and None not in words:
            written[key] = words if len(params) > 1 else words[0]
            for param in params:
                del left[param.name]
    return written | left


def _spelt(param: Param, value: Value) -> Value | None:
    """Return one value as Tensile writes it; None if it has no word for it."""
    tensile = param.tensile
    assert tensile is not None  # because it is in `KEYS`
    if tensile.words:
        word = next((word for word, ours in tensile.words if ours == value), None)
        if word in ("True", "False"):
            return int(word == "True") if tensile.writes_numbers else word == "True"
        return word
    return AUTOMATIC if value == tensile.automatic else value


def _read(name: str, params: tuple[Param, ...], item: Item) -> dict[str, Value]:
    first = params[0]
    assert first.tensile is not None  # because it is in `KEYS`
    if first.tensile.place is not None:
        return _read_list(name, params, item)
    if first.tensile.words:
        return {first.name: _read_word(name, first.tensile.words, item)}
    return {first.name: _read_number(name, first, item)}


def _read_own(param: Param, item: Item) -> Value:
    """Read the value of a parameter by mltune's name."""
    value, is_open = item.scalar(param.name), param.name in MAY_BE_OPEN
    if param.accepts(value) or (is_open and value == AUTOMATIC):
        return value
    wanted = f"{param.wanted}{', or -1' if is_open else ''}"
    raise UsageError(f"{item.where}: {param.name} must be {wanted}, got {value!r}")


def _read_list(name: str, params: tuple[Param, ...], item: Item) -> dict[str, Value]:
    numbers = [entry.scalar(name) for entry in item.sequence(name)]
    if len(numbers) != len(params) or not all(isinstance(n, int) and n > 0 for n in numbers):
        raise UsageError(
            f"{item.where}: {name}: {len(params)} numbers of at least 1, got {numbers}"
        )
    return {param.name: number for param, number in zip(params, numbers, strict=True)}


def _read_word(name: str, words: tuple[tuple[str, Value], ...], item: Item) -> Value:
    values = dict(words)
    if "True" in values:
        return values[str(flag(item, name))]
    word = str(item.scalar(name))
    if word not in values:
        raise UsageError(
            f"{item.where}: {name}: '{word}' is not supported (known: {', '.join(values)})"
        )
    return values[word]


def _read_number(name: str, param: Param, item: Item) -> Value:
    assert isinstance(param, IntParam)  # only these parameters have words
    assert param.tensile is not None  # because it is in `KEYS`
    value, automatic = item.scalar(name), param.tensile.automatic
    if value == AUTOMATIC and automatic is not None:
        return automatic
    least = max(param.least, 1) if automatic is not None else param.least
    if not isinstance(value, int) or value < least:
        raise UsageError(
            f"{item.where}: {name}: {value} is not supported: whole numbers of at least "
            f"{least}{'' if automatic is None else ', or -1'}"
        )
    return value
