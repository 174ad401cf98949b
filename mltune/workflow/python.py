"""The Python interface: the verbs as functions, for scripts and notebooks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mltune.errors import UsageError
from mltune.run.run import Run
from mltune.selector import MAX_KERNELS
from mltune.tuning.progress import ignore_progress

if TYPE_CHECKING:
    from mltune.cost_model import BoostedModel
    from mltune.selector import Selector
    from mltune.tuning.search_options import GivenSizes
    from mltune.workflow.search_result import SearchResult
    from mltune.workflow.tune_result import TuneResult

RunLike = Run | str | Path
"""An open run, or a run's folder."""


def search(
    problem: str | None = None,
    sizes: GivenSizes | None = None,
    device: str | None = None,
    *,
    budget: int | None = None,
    show_progress_bar: bool = False,
    **options: Any,
) -> SearchResult:
    """Search as `mltune search` does: trials, then final rounds of the best configs.

    Args:
        problem: a problem type, such as `sgemm_nn`.
        sizes: as `--sizes` takes them, or a list such as `[(64, 64, 64)]`.
        device: as `--device` takes it.
        budget: the number of trials (default: 500).
        show_progress_bar: whether to show one, in a notebook or a terminal.
        options: further options, by the names of `SearchOptions`: `space`, `seed`, `folder`,
            `resume`, `time_limit_seconds` and so on.

    Raises:
        UsageError: when an option, a file or the folder is wrong.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when every config failed.
    """
    from mltune.tuning.search_options import SearchOptions, options_of
    from mltune.workflow.objective import ignore_note
    from mltune.workflow.search import search as search_with
    from mltune.workflow.tuned_study import Bar

    named = {"problem": problem, "sizes": sizes, "device": device, "budget": budget}
    asked = options_of(SearchOptions, "search", named | options)
    with ExitStack() as stack:
        show = stack.enter_context(Bar()) if show_progress_bar else ignore_progress
        return search_with(asked, show, ignore_note)


def tune(
    problems: str | None = None,
    *,
    calls: str | Path | None = None,
    folder: str | Path = "tuned",
    seconds: float | None = None,
    show_progress_bar: bool = False,
    **options: Any,
) -> TuneResult:
    """Tune as `mltune tune` does: search, distil, compare, and write one library and a report.

    Args:
        problems: problem types between commas; `sgemm` alone means all its transposes.
        calls: a file of a program's calls, as `mltune trace` writes it. Give this or `problems`.
        folder: for runs, selectors, library and report.
        seconds: the time limit of the whole (default: 600).
        show_progress_bar: whether to show one, in a notebook or a terminal.
        options: further options, by the names of `TuneOptions`: `sizes`, `device`, `seed`,
            `resume`, `space`, `against` and `languages`.

    Raises:
        UsageError: when an option or a file is wrong, or nothing is left to tune.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when no kernel was right.
    """
    from mltune.tuning.search_options import options_of
    from mltune.workflow.objective import ignore_note
    from mltune.workflow.tune import TuneOptions
    from mltune.workflow.tune import tune as tune_with
    from mltune.workflow.tuned_study import Bar

    named = {
        "problems": problems,
        "calls": None if calls is None else _path("calls", calls),
        "folder": _path("folder", folder),
        "seconds": seconds,
    }
    asked = options_of(TuneOptions, "tune", named | options)
    with ExitStack() as stack:
        show = stack.enter_context(Bar()) if show_progress_bar else ignore_progress
        return tune_with(asked, show, ignore_note)


def train(*runs: RunLike, seed: int = 0) -> BoostedModel:
    """Fit the cost model to runs of one problem type on one device.

    Raises:
        UsageError: when a run cannot be read, or they do not belong together.
        NoCorrectConfigError: when no measurement succeeded.
    """
    from mltune.cost_model import fit
    from mltune.search.names import MOST_SEED
    from mltune.workflow.recorded import read_runs

    if not isinstance(seed, Integral) or not 0 <= seed <= MOST_SEED:
        raise UsageError(f"train: seed must be from 0 to {MOST_SEED}, got {seed!r}")
    recorded = read_runs(_folders(runs))
    return fit(recorded.measurements, recorded.device, seed=int(seed))


def distil(
    *runs: RunLike,
    method: str = "auto",
    max_kernels: int = MAX_KERNELS,
    output: str | Path | None = None,
) -> Selector:
    """Distil the measurements of runs into a selector that states its loss.

    Args:
        runs: of one problem type on one device.
        method: the kind of rule, as for `--method`.
        max_kernels: the largest number of kernels to ship.
        output: a place to write the selector to (default: it is not written).

    Raises:
        UsageError: when a run cannot be read, or a setting is out of range.
        NoCorrectConfigError: when no kernel of the runs was right.
    """
    from mltune.workflow.distil import DistilOptions, distil_runs

    if not isinstance(max_kernels, Integral):
        raise UsageError(f"distil: max_kernels must be a whole number, got {max_kernels!r}")
    with tempfile.TemporaryDirectory() as scratch:
        options = DistilOptions(
            runs=_folders(runs),
            output=Path(scratch) if output is None else _path("output", output),
            method=str(method),
            max_kernels=int(max_kernels),
        )
        return distil_runs(options, ignore_progress).selector


def export(
    selector: Selector | str | Path | Sequence[Selector | str | Path],
    language: str,
    folder: str | Path,
    *,
    name: str | None = None,
) -> tuple[Path, ...]:
    """Write one selector, or several, with their kernels as a library.

    Args:
        selector: what `distil` returned, or its path. Several selectors, each for another problem
            type, give one library (`c`, `clblast`).
        language: `c`, `clblast`, `python`, `rust` or `json`.
        folder: of the library.
        name: the prefix of a library of several selectors (default: `mltune`).

    Returns:
        The files.

    Raises:
        UsageError: when a selector cannot be read, or the language is unknown or takes only one.
        MltuneError: when something cannot be written.
    """
    from mltune.workflow.export import export_selectors

    if isinstance(selector, str) or not isinstance(selector, Sequence):
        selector = [selector]
    chosen = [_path_or_selector(each) for each in selector]
    if not chosen:
        raise UsageError("export: needs a selector, got none")
    name = None if name is None else str(name)
    return export_selectors(chosen, str(language), _path("folder", folder), name=name).files


def report(run: RunLike, output: str | Path | None = None) -> Path:
    """Write the report of a run, one HTML file, and return its path.

    Args:
        run: an open run, or its folder.
        output: the file (default: `report.html` in the run's folder).

    Raises:
        UsageError: when the run cannot be read, or the report cannot be written there.
    """
    from mltune.workflow.report import report as write_report

    (folder,) = _folders((run,))
    page = None if output is None else _path("output", output)
    return write_report(folder, page, ignore_progress).path


def _folders(runs: Sequence[RunLike]) -> tuple[Path, ...]:
    if not runs:
        raise UsageError("needs a run: an open one, or its folder")
    given: Sequence[Any] = runs
    if wrong := [each for each in given if not isinstance(each, Run | str | PathLike)]:
        hint = "; give several as (*runs)" if isinstance(wrong[0], Sequence) else ""
        kind = type(wrong[0]).__name__
        raise UsageError(f"needs a run: an open one, or its folder, got {kind}{hint}")
    return tuple(run.folder if isinstance(run, Run) else Path(run) for run in runs)


def _path_or_selector(given: Any) -> Path | Selector:
    from mltune.selector import Selector

    if isinstance(given, Selector):
        return given
    if isinstance(given, str | PathLike):
        return Path(given)
    raise UsageError(
        f"export: needs a selector, as `mltune.distil` returns it, or its path, "
        f"got {type(given).__name__}"
    )


def _path(what: str, given: Any) -> Path:
    if isinstance(given, str | PathLike):
        return Path(given)
    raise UsageError(f"{what}: must be a path, got {given!r}")
