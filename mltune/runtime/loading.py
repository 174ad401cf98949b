"""Loads selectors from memory, files, folders and packs, and generates their kernels."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mltune.device import list_devices
from mltune.device.opencl.listing import is_forked
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction
from mltune.runtime.here import refuse_elsewhere
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.selector import Selector
from mltune.selector.checked import Checked
from mltune.selector.json import contraction_of, read_document, selector_of
from mltune.selector.pack import SELECTOR_NAME, find_selector
from mltune.selector.speeds import SPEEDS_NAME, Speed, read_speeds
from mltune.unknown import unknown

_log = logging.getLogger(__name__)


def load(
    selector: Path | Selector,
    learn: Path | None = None,
    *,
    device: str | None = None,
    check: bool = True,
    first_check: bool = True,
) -> TunedGemm:
    """Load a selector: one in memory, its JSON file, the folder that holds it, or a pack's name.

    Args:
        selector: which.
        learn: the file for what is learned from calls; None to learn nothing.
        device: for host arrays, as `--device` takes it (default: `auto`).
        check: whether to refuse a pack that runs on no device of this machine.
        first_check: whether a pack's kernels are checked when a device first uses it; without, the
            caller checks their results.

    Raises:
        UsageError: when there is no readable selector, its kernels cannot be written again, or
            `learn` names another kind of file.
        NoDeviceError: when no kernel of a pack runs on any device of this machine.
    """
    if isinstance(selector, Selector):
        return _bound(selector, "selector", learn, device)
    return SelectorFile.read(selector, first_check=first_check).load(learn, device, check=check)


@dataclass(frozen=True, slots=True)
class SelectorFile:
    """A selector's file that was read; its kernels are written when it is loaded.

    Attributes:
        pack: the name of a pack; empty if it is none.
        speeds: that a pack states.
    """

    path: Path
    document: Checked
    pack: str = ""
    speeds: tuple[Speed, ...] = ()

    @classmethod
    def read(cls, given: Path, *, first_check: bool = True) -> Self:
        """Read a JSON file, the one in a folder, or that of the pack of a name.

        Raises:
            UsageError: when there is no readable file.
        """
        path = find_selector(given)
        if not (path.parent / SPEEDS_NAME).exists() or path.name != SELECTOR_NAME:
            return cls(path, read_document(path))
        speeds = read_speeds(path.parent) if first_check else ()
        name = "/".join(path.absolute().parts[-3:-1])
        return cls(path, read_document(path), name, tuple(speeds))

    @property
    def contraction(self) -> Contraction:
        """The problem type."""
        return contraction_of(self.document)

    def load(
        self, learn: Path | None = None, device: str | None = None, *, check: bool = True
    ) -> TunedGemm:
        """Write the kernels, and bind them; see the function `load`."""
        selector = selector_of(self.document)
        tuned = _bound(selector, str(self.path), learn, device, self.pack, self.speeds)
        if not self.pack:
            return tuned
        devices: list[DeviceInfo] = []
        if check and not is_forked():  # else a driver may never answer
            with suppress(NoDeviceError):  # without a device it can still choose
                devices = [entry.info for entry in list_devices()]
        refuse_elsewhere(self.pack, selector, tuned.kernels, devices)
        return tuned


def _bound(
    selector: Selector,
    where: str,
    learn: Path | None,
    device: str | None,
    pack: str = "",
    speeds: Sequence[Speed] = (),
) -> TunedGemm:
    """Generate a selector's kernels, and bind them to it."""
    kernels, changed = [], []
    for entry in selector.portfolio:
        if entry.family not in FAMILIES:
            raise UsageError(f"{where}: {unknown('kernel family', entry.family, FAMILIES)}")
        kernel = FAMILIES[entry.family].generate(selector.contraction, entry.config)
        if kernel.name != entry.name:
            raise UsageError(f"{where}: config of {entry.name} gives kernel {kernel.name}")
        if kernel.source_hash != entry.source_hash:
            changed.append(entry.name)
        kernels.append(kernel)
    if changed and not pack:  # a pack is checked when a device first uses it
        names = changed[0] if len(changed) == 1 else f"{len(changed)} kernels"
        _log.warning(
            "%s: this version of mltune writes %s differently from the one that measured it",
            where,
            names,
        )
    return TunedGemm(selector, kernels, learn, name=pack, speeds=speeds, device=device)
