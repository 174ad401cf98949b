"""`mltune source`: the OpenCL source of a kernel of a selector, a pack or a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.measurement import Measurement
from mltune.problem import problem_type_name
from mltune.run.run import INFO_NAME, Run
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selector
from mltune.tuning.families import family_named
from mltune.tuning.final_selection import choose
from mltune.workflow.export import kernels_of


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel as this version generates it.

    Attributes:
        kernel: with its source and build options.
        recorded_hash: of the source that was measured.
        chosen: the reason for the choice, if no kernel was named; else empty.
    """

    kernel: Kernel
    recorded_hash: str
    chosen: str = ""

    @property
    def is_as_measured(self) -> bool:
        """Whether the source is the one that was measured."""
        return self.kernel.source_hash == self.recorded_hash

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "kernel": self.kernel.name,
            "problem": problem_type_name(self.kernel.contraction),
            "build_options": list(self.kernel.build_options),
            "source_hash": self.kernel.source_hash,
            "is_as_measured": self.is_as_measured,
            "source": self.kernel.source,
        }


def kernel_text(given: Path, wanted: str | None) -> KernelText:
    """Generate the source of a kernel.

    Args:
        given: a run folder, a selector, or the name of a shipped pack.
        wanted: a kernel's name, or a part of it that fits no other kernel; or a number: in a
            selector its place from 0 on, in a run a measurement's id. None for a selector's first
            kernel, or for the one that is fastest on the most sizes of a run.

    Raises:
        UsageError: when there is no such folder or kernel, or several fit.
    """
    if (given / INFO_NAME).exists():
        return _of_run(given, wanted)
    path = find_selector(given)
    selector = read_selector(path)
    names = [entry.name for entry in selector.portfolio]
    place = _place(names, wanted, str(path))
    kernels, _ = kernels_of(selector)
    chosen = "" if wanted else f"kernel 0 of {len(names)}"
    return KernelText(kernels[place], selector.portfolio[place].source_hash, chosen)


def _of_run(folder: Path, wanted: str | None) -> KernelText:
    with Run.open(folder) as run:
        info = run.info
        number = _number(wanted)
        rows = run.store.measurements() if number is None else [run.store.get(number)]
    chosen = ""
    if not wanted:
        row, wins, sizes = _fastest_most_often(rows, folder)
        chosen = f"fastest on {wins} of {sizes} sizes"
    elif number is not None:
        row = rows[0]
    else:
        of_kernel = {each.kernel: each for each in rows}
        names = list(of_kernel)
        row = of_kernel[names[_place(names, wanted, str(folder))]]
    family = family_named(row.family, str(folder), info.kernels)
    kernel = family.generate(row.problem.contraction, row.config)
    return KernelText(kernel, row.source_hash, chosen)


def _fastest_most_often(rows: Sequence[Measurement], folder: Path) -> tuple[Measurement, int, int]:
    best = [choice.best for choice in choose(rows).values()]
    if not best:
        raise UsageError(f"{folder}: no kernel was right; name a measurement by its number")
    name, wins = Counter(row.kernel for row in best).most_common(1)[0]
    return next(row for row in best if row.kernel == name), wins, len(best)


def _place(names: Sequence[str], wanted: str | None, where: str) -> int:
    """Return the place of the only name that fits."""
    if wanted is None:
        return 0
    number = _number(wanted)
    if number is not None:
        if number < len(names):
            return number
        raise UsageError(f"{where}: no kernel {wanted} (it has 0 to {len(names) - 1})")
    found = [at for at, name in enumerate(names) if wanted == name]
    found = found or [at for at, name in enumerate(names) if wanted in name]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} of {len(names)} kernels have" if found else "no kernel has"
    raise UsageError(f"{where}: {what} '{wanted}' in the name")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
