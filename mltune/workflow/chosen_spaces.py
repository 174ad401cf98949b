"""The spaces of a search: the named ones, or those that `auto` stands for on the device."""

from __future__ import annotations

import logging

import numpy as np

from mltune.device_info import DeviceInfo
from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import KernelFamily
from mltune.kernel.space_file import load_space, parse_space
from mltune.problem import Contraction
from mltune.reading import read_text
from mltune.run.run_info import RunInfo, SearchedSpace
from mltune.space.config_space import FlatSpace
from mltune.space.names import outside_names
from mltune.space.shipped import AUTO, AUTO_SPACES, find_space, label_of
from mltune.space.space import Space
from mltune.space.union import UnionSpace, members_of, without_family
from mltune.tuning.families import family_named

_PROBES = 64  # configs; if its family refuses all of them, a space does not belong to the family

_log = logging.getLogger(__name__)

SearchSpace = Space | UnionSpace
"""A space that a run can search."""


def check_spaces(names: tuple[str, ...], kernels: str = "") -> None:
    """Refuse wrong files before any device is opened.

    Args:
        names: names and paths.
        kernels: hand-written ones as a run stores them; empty if there are none.

    Raises:
        UsageError: with the first mistake.
    """
    for name in names:
        if name != AUTO:
            path = find_space(name)
            family_named(load_space(path).family, label_of(name, path), kernels)


def choose_spaces(
    names: tuple[str, ...], device: DeviceInfo, contraction: Contraction, kernels: str = ""
) -> dict[SearchedSpace, Space]:
    """Return the spaces of a search on a device, each bound to it as a member of a union.

    Named spaces must suit the problem and the device. Of those of `auto`, the others are left out,
    and the log has the reasons.

    Args:
        names: names and paths.
        device: that will measure.
        contraction: the problem type.
        kernels: hand-written ones as a run stores them; empty if there are none.

    Raises:
        UnsupportedError: when a family cannot generate the problem type.
        UsageError: when a file is wrong, or no config is left on the device.
    """
    chosen: dict[SearchedSpace, Space] = {}
    refusals: list[str] = []

    def add(name: str) -> None:
        path = find_space(name)
        text, label = read_text(path), label_of(name, path)
        if all(text != each.text for each in chosen):
            file = parse_space(text, label)
            space = file.bind(outside_names(device, contraction), in_union=True)
            check_family(family_named(file.family, label, kernels), contraction, space)
            chosen[SearchedSpace(label, file.family, text)] = space

    for name in names:
        if name != AUTO:
            add(name)
            continue
        for shipped in AUTO_SPACES["cpu" if device.kind == "cpu" else "gpu"]:
            try:
                add(shipped)
            except UsageError as error:
                refusals.append(f"{shipped}: {error}")
                _log.info("--space auto: left out %s", refusals[-1])
    if not chosen:
        raise UsageError(f"--space auto: no space is for this device and problem: {refusals[0]}")
    return chosen


def bound_space(info: RunInfo) -> SearchSpace:
    """Return the space of a run on its device.

    Raises:
        UsageError: when a space is wrong, or empty on the device.
    """
    names = outside_names(info.device, info.contraction)
    files = [parse_space(each.text, each.name) for each in info.searched_spaces]
    if not info.spaces:
        return files[0].bind(names)
    return UnionSpace(info.space, [each.bind(names, in_union=True) for each in files])


def check_families(info: RunInfo, space: SearchSpace) -> None:
    """Refuse a run if a family cannot generate one of its spaces; see `check_family`."""
    for member in members_of(space):
        family = family_named(member.family, member.name, info.kernels)
        check_family(family, info.contraction, member)


def check_family(family: KernelFamily, contraction: Contraction, space: FlatSpace) -> None:
    """Refuse a problem type or a space that the family cannot generate, before anything is made.

    A space may have some configs that its family refuses; these fail one by one.

    Raises:
        UnsupportedError: when the family cannot generate the problem type.
        UsageError: when it refuses all configs that were tried.
    """
    refusal = None
    for config in space.sample(np.random.default_rng(0), _PROBES):
        try:
            family.generate(contraction, without_family(config))
        except UnsupportedError:
            raise
        except UsageError as error:
            refusal = refusal or error
        else:
            return
    if refusal is not None:
        raise refusal
