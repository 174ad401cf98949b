"""The pack that ships for a device and problem type, which `mltune tune` must not fall below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.distil import TimeTable
from mltune.distil.table import UNSAFE
from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.needs import lacks
from mltune.kernel.parameters.declared import with_defaults
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Contraction, problem_type_name
from mltune.selector import PortfolioKernel, Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import SELECTOR_NAME, packs
from mltune.selector.restricted import without
from mltune.space.config import Config
from mltune.workflow.expected_times import with_expected


def pack_of(device: DeviceInfo, contraction: Contraction) -> Path | None:
    """Return the selector's file of the pack that was measured on a device of this name."""
    problem = problem_type_name(contraction)
    for pack in packs():
        if pack.name == problem:
            said = dict(read_selector(pack / SELECTOR_NAME).conditions)
            if said.get("device") == device.name:
                return pack / SELECTOR_NAME
    return None


def usable(
    known: Selector, device: DeviceInfo, rows: Sequence[Measurement] = ()
) -> Selector | None:
    """Return a selector with the kernels that this version writes and a device runs.

    Args:
        known: of a pack.
        device: to run on.
        rows: a kernel that was wrong, crashed or never worked there is left out. The others have
            the names that they have there.
    """
    measured = {_identity(row.family, row.config): row for row in rows}
    worked = {row.kernel for row in rows if row.status is Status.OK}
    failed = {row.kernel for row in rows if row.status is not Status.OK}
    unsafe = {row.kernel for row in rows if row.status in UNSAFE} | failed - worked
    renamed = [_as_measured(each, measured) for each in known.portfolio]
    found = [_as_written(known.contraction, each, device) for each in renamed]
    names = [each.name if each else "" for each in found]
    # Of two kernels that differ only in whether they state a default, the first has the work.
    heirs = {i: names.index(name) for i, name in enumerate(names) if name in names[:i]}
    out = {i for i, name in enumerate(names) if not name or name in unsafe} | {*heirs}
    if len(out) == len(found):
        return None
    written = tuple(each for i, each in enumerate(found) if each is not None and i not in out)
    return replace(without(known, out, heirs)[0], portfolio=written)


def _identity(family: str, config: Config) -> tuple[str, Config]:
    return family, with_defaults(family, config)


def _as_measured(
    entry: PortfolioKernel, measured: Mapping[tuple[str, Config], Measurement]
) -> PortfolioKernel:
    """Return a kernel as a search names it: there its config has all parameters of a space."""
    row = measured.get(_identity(entry.family, entry.config))
    return entry if row is None else replace(entry, name=row.kernel, config=row.config)


def _as_written(
    contraction: Contraction, entry: PortfolioKernel, device: DeviceInfo
) -> PortfolioKernel | None:
    """Return a kernel with the source that this version writes; None if it cannot be used."""
    if entry.family not in FAMILIES:
        return None
    try:
        kernel = FAMILIES[entry.family].generate(contraction, entry.config)
    except UsageError:  # a config that this version cannot generate
        return None
    if kernel.name != entry.name or lacks(kernel, device):
        return None
    return replace(entry, source_hash=kernel.source_hash)


def judging_table(known: Selector, rows: Sequence[Measurement], device: DeviceInfo) -> TimeTable:
    """Return the times of leaders and of a pack's kernels, measured or else predicted.

    Kernels of the pack that are no leaders have their times from the search.

    Args:
        known: of the pack.
        rows: of runs on the device.
        device: that measured them.
    """
    finals = [row for row in rows if row.phase == Phase.FINAL and row.median is not None]
    leaders = {row.kernel for row in finals}
    others = {kernel.name for kernel in known.portfolio} - leaders if leaders else set()
    told = [replace(row, phase=Phase.FINAL) if row.kernel in others else row for row in rows]
    return with_expected(TimeTable.from_measurements(told, chosen=True), told, device)
