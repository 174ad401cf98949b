"""`mltune pack`: builds packs from runs, checks them on a device, and lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.device import DeviceEntry, choose, list_devices
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError
from mltune.problem import problem_type_name
from mltune.reading import read_bytes
from mltune.run.run import INFO_NAME, read_info
from mltune.runtime.here import lacking
from mltune.runtime.loading import load
from mltune.runtime.verify import Verified, verify
from mltune.selector.pack import find_selectors, packs
from mltune.tuning.progress import Show, Steps
from mltune.workflow.distil import (
    DistilOptions,
    DistilResult,
    distil_runs,
    refuse_no_gemm,
)
from mltune.workflow.memory import remembered
from mltune.workflow.train import train

DEFAULT_FOLDER = Path("models")


@dataclass(frozen=True, slots=True)
class Listed:
    """A pack as `mltune pack list` shows it.

    Attributes:
        lacks: features that the device lacks for some kernels; empty if all run.
        runs: how many of the kernels run there.
    """

    name: str
    device: str
    date: str
    sizes: int
    kernels: int
    geomean: float | None
    runs: int
    lacks: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {name: getattr(self, name) for name in self.__slots__}


def build(given: Sequence[Path], output: Path, seed: int, show: Show) -> tuple[DistilResult, ...]:
    """Distil runs into packs, one for each problem type, with their cost models.

    Args:
        given: run folders, and folders that `mltune tune` wrote.
        output: the folder in which `<device>/<problem>` is made.
        seed: of fits and splits.
        show: called with the progress.

    Raises:
        UsageError: when a folder holds no run, or a run cannot be read or is of no GEMM.
        NoCorrectConfigError: when no kernel of a problem type was right.
    """
    by_pack: dict[Path, list[Path]] = {}
    for folder in given:
        for run in _runs(folder):
            info = read_info(run)
            refuse_no_gemm(info.contraction, run)
            place = output / info.device.slug / problem_type_name(info.contraction)
            by_pack.setdefault(place, []).append(run)
    built = []
    for place, runs in by_pack.items():
        train(runs, place, seed, show=show)
        built.append(distil_runs(DistilOptions(runs=tuple(runs), output=place, seed=seed), show))
    return tuple(built)


def _runs(folder: Path) -> tuple[Path, ...]:
    """Return the folder itself, or the runs in a folder of `mltune tune`."""
    if (folder / INFO_NAME).exists():
        return (folder,)
    inside = tuple(sorted(file.parent for file in folder.glob(f"runs/*/{INFO_NAME}")))
    if not inside:
        raise UsageError(f"{folder}: holds no run, and is no folder of `mltune tune`")
    return inside


def verify_packs(given: Sequence[Path], device: str | None, show: Show) -> tuple[Verified, ...]:
    """Check packs on a device.

    Args:
        given: packs by name, folders, or a device's name for all of its packs; all if empty.
        device: as for `--device` (default: auto).
        show: called with the progress.

    Raises:
        UsageError: when there is no such pack.
        NoDeviceError: when there is no such device, or a pack has no kernel that runs on it.
    """
    files = [file for each in given or packs() for file in find_selectors(each)]
    entry = choose(device or "auto")
    step = Steps("verify", show)
    found = []
    for done, file in enumerate(files):
        step(done, len(files))
        found.append(verify(file, entry))
    return tuple(found)


def list_packs(given: Sequence[Path], device: str | None) -> tuple[Listed, ...]:
    """Describe packs, with the features that a device lacks for them.

    Args:
        given: as for `verify_packs`.
        device: as for `--device` (default: the usual one, or none if there is none).

    Raises:
        UsageError: when there is no such pack.
        NoDeviceError: when a device was named that does not exist.
    """
    entry: DeviceEntry | None = choose(device) if device else None
    if entry is None:
        try:
            entry = choose("auto", list_devices(), lambda each: each)
        except NoDeviceError:
            entry = None
    files = [file.absolute() for each in given or packs() for file in find_selectors(each)]
    states = [read_bytes(file) for file in files]
    # To write the sources of all kernels that ship takes a second.
    return remembered(_all_listed)(files, states, entry.info if entry else None)


def _all_listed(
    files: Sequence[Path], states: Sequence[bytes], device: DeviceInfo | None
) -> tuple[Listed, ...]:
    """Describe packs; `states` is a part of the cache's key."""
    return tuple(_listed(file, device) for file in files)


def _listed(file: Path, device: DeviceInfo | None) -> Listed:
    tuned = load(file, check=False)
    selector, kernels = tuned.selector, tuned.kernels
    said = dict(selector.conditions)
    lacks = lacking(kernels, device) if device else {}
    return Listed(
        name="/".join(file.parts[-3:-1]),
        device=said.get("device", ""),
        date=said.get("date", ""),
        sizes=len(selector.exact),
        kernels=len(kernels),
        geomean=selector.regret.geomean if selector.regret else None,
        runs=len(kernels) - len(lacks),
        lacks=", ".join(dict.fromkeys(lacks.values())),
    )
