"""The results of shipped runs on similar devices, which are a search's default priors.

`models/priors.json` lists them with the device, problem and space of each. Each has a file with
the configs of a run and their times, the geometric mean over its sizes. The kernels of packs are
tried first. A run names both as `shipped:NAME`, so that it can be resumed wherever mltune is
installed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mltune.counted import counted
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.measurement import Status
from mltune.measurement.recording import Point, Recording
from mltune.problem import Contraction, parse_problem_type, problem_type_name
from mltune.reading import parse_json, read_bytes, read_packed
from mltune.resources import data_folder
from mltune.run.run_info import RunInfo, SearchedSpace
from mltune.search.transfer import usable
from mltune.selector.json import read_selector
from mltune.selector.pack import SELECTOR_NAME, packs
from mltune.space.config import Config
from mltune.space.union import UnionSpace, members_of
from mltune.workflow.chosen_spaces import SearchSpace
from mltune.workflow.recordings import of_selector, suited

SHIPPED = "shipped:"
"""The prefix of a shipped prior's name."""

INDEX_NAME = "priors.json"
_MOST_A_SPACE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedPrior:
    """A line of the index.

    Attributes:
        name: of the run.
        file: in the folder `models`.
        space: the name of its file, without the suffix.
        device: the properties by which devices are compared: kind, vendor, name, platform, wave
            size, compute capability and units.
    """

    name: str
    file: str
    problem: str
    family: str
    space: str
    device: Mapping[str, Any]


def default_priors(info: RunInfo, space: SearchSpace) -> tuple[str, ...]:
    """Return the shipped priors that a search begins with; none without a similar device.

    Args:
        info: the run's options.
        space: that is searched, which has to share parameters with them.
    """
    if not info.contraction.is_gemm:
        return ()
    found: dict[str, None] = {}
    for each in info.searched_spaces:
        found |= dict.fromkeys(_for_space(each, info.contraction, info.device))
    names = (SHIPPED + name for name in found)
    runs = tuple(name for name in names if _teaches(name, space))
    return (*runs, *(_packs(info, space) if isinstance(space, UnionSpace) else ()))


def _packs(info: RunInfo, space: UnionSpace) -> Iterable[str]:
    """The packs of similar devices with kernels that a union has, the most similar first."""
    problem = problem_type_name(info.contraction)
    devices = {str(prior.device["name"]): prior.device for prior in index()}
    ranked = []
    for pack in packs():
        if not (pack.name[0] == problem[0] and pack.name.count("_") == problem.count("_")):
            continue
        if parse_problem_type(pack.name).compute is not info.contraction.compute:
            continue
        name = f"{SHIPPED}{pack.parent.name}/{pack.name}"
        kernels = _kernels(pack, name)
        device = devices.get(kernels.device)
        if device is None or not is_similar(device, info.device):
            continue
        if any(config in space for config in suited(kernels, space).leaders):
            apart = (pack.name != problem, device["name"] != info.device.name)
            ranked.append((*apart, name))
    return (name for *_, name in sorted(ranked))


def _teaches(name: str, space: SearchSpace) -> bool:
    recording = read_shipped(name)
    if recording is None:
        return False
    for member in members_of(space):
        if member.family == recording.family:
            with suppress(UsageError):
                usable(member.parameters, recording)
                return True
    return False


def _for_space(
    space: SearchedSpace, contraction: Contraction, device: DeviceInfo
) -> Iterable[str]:
    """Return the two most similar shipped runs for a space, of equal ones the newest."""
    problem = problem_type_name(contraction)
    suitable = [
        prior
        for prior in index()
        if prior.family == space.family
        and prior.problem[0] == problem[0]
        and is_similar(prior.device, device)
    ]
    stem = Path(space.name).stem
    newest = sorted(suitable, key=lambda prior: prior.name, reverse=True)
    nearest = sorted(newest, key=lambda prior: _rank(prior, stem, problem, device))
    return sorted(prior.name for prior in nearest[:_MOST_A_SPACE])


def _rank(prior: ShippedPrior, space: str, problem: str, device: DeviceInfo) -> tuple[float, ...]:
    """Return a rank, small for similar space, device size, transposes and device."""
    units = prior.device["compute_units"] / max(device.compute_units, 1)
    return (
        prior.space != space,
        round(abs(math.log2(units)), 3) if units > 0 else math.inf,
        prior.problem != problem,
        prior.device["name"] != device.name,
    )


def is_similar(known: Mapping[str, Any], device: DeviceInfo) -> bool:
    """Whether times on one device help on another.

    GPUs need equal vendor, wave size and major compute capability; processors need an equal
    platform and equal first two words of the name, such as `pthread-AMD EPYC`.
    """
    here = identity(device)
    alike = ["kind", "wave_size", "platform" if device.kind == "cpu" else "vendor"]
    if any(known[name] != here[name] for name in alike):
        return False
    if device.kind == "cpu":
        return _words(known["name"]) == _words(device.name)
    # In runs that are older than this field it is 0.
    majors = (known["compute_capability"] // 10, device.compute_capability // 10)
    return majors[0] == majors[1] or str(known["name"]) == device.name


def _words(name: str) -> list[str]:
    return re.sub(r"\([^)]*\)", " ", name).lower().split()[:2]


def identity(device: DeviceInfo) -> dict[str, Any]:
    """Return the properties by which devices are compared."""
    return {
        "name": device.name,
        "vendor": device.vendor,
        "kind": device.kind,
        "platform": device.platform,
        "wave_size": device.wave_size,
        "compute_capability": device.compute_capability,
        "compute_units": device.compute_units,
    }


def describe(names: Sequence[str]) -> str:
    """Return one line about the shipped priors among some names; empty if there are none."""
    known = {SHIPPED + prior.name: prior for prior in index()}
    used = [known[name] for name in names if name in known]
    if not used:
        return ""
    devices = ", ".join(dict.fromkeys(str(prior.device["name"]) for prior in used))
    runs = "a shipped run" if len(used) == 1 else f"{len(used)} shipped runs"
    count = sum(_pack(name) is not None for name in names)
    kernels = f" and the kernels of {counted(count, 'pack')}" if count else ""
    return f"begins with what {runs} on {devices} found{kernels} (--prior none begins without)"


def name_leaders(names: Iterable[str]) -> bool:
    """Whether some priors are selectors or packs, whose kernels are known to be fast."""
    return any(Path(name).name == SELECTOR_NAME or _pack(name) is not None for name in names)


def _pack(name: str) -> Path | None:
    """The folder of the pack that a prior names; None if there is none."""
    asked = Path(name.removeprefix(SHIPPED)).parts
    return next((pack for pack in packs() if pack.parts[-2:] == asked), None)


def read_shipped(name: str) -> Recording | None:
    """Read a prior by its name with `SHIPPED`; None if this version ships no such prior.

    Raises:
        UsageError: when its file is damaged.
    """
    prior = next((each for each in index() if SHIPPED + each.name == name), None)
    if prior is None:
        pack = _pack(name)
        return None if pack is None else _kernels(pack, name)
    return Recording(
        where=name,
        problem=prior.problem,
        device=str(prior.device["name"]),
        points=_points(data_folder("models") / prior.file),
        family=prior.family,
        space=prior.space,
    )


# A search reads its priors twice: to choose them, and to learn from them.
@cache
def _kernels(pack: Path, name: str) -> Recording:
    return of_selector(read_selector(pack / SELECTOR_NAME), name)


@cache
def _points(path: Path) -> tuple[Point, ...]:
    packed, damage = read_packed(path)
    if damage:
        raise UsageError(f"{path}: is no record that ships ({damage})")
    try:
        data = parse_json(packed)
        names = data["parameters"]
        return tuple(
            Point(Config.of(dict(zip(names, values, strict=True))), seconds, Status(status))
            for *values, seconds, status in data["rows"]
        )
    except (UsageError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: is no record that ships ({error})") from error


@cache
def index() -> tuple[ShippedPrior, ...]:
    """Return all shipped priors; none if there is no index."""
    path = data_folder("models") / INDEX_NAME
    if not path.exists():
        return ()
    data: Any = parse_json(read_bytes(path))
    return tuple(ShippedPrior(**each) for each in data["priors"])
