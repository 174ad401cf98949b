"""One session of `mltune tune`: searches by their shares of the time, then the other steps."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from mltune.device import DeviceEntry
from mltune.distil.taught import BYTES_EACH
from mltune.errors import (
    DeviceGoneError,
    DiskFullError,
    MltuneError,
    NoCorrectConfigError,
    NoDeviceError,
    UsageError,
)
from mltune.export import SET_WRITERS
from mltune.files import write_atomically
from mltune.run.run import INFO_NAME
from mltune.side_by_side import side_by_side
from mltune.space.shipped import AUTO
from mltune.tuning.progress import Progress, Show, ignore_progress
from mltune.tuning.search_options import SHIPPED_PRIORS, SearchOptions
from mltune.tuning.stop_reason import StopReason
from mltune.workflow.distil import DistilOptions, DistilResult, distil_runs
from mltune.workflow.export import DEFAULT_NAME, export_selectors
from mltune.workflow.known_pack import pack_of
from mltune.workflow.program_gain import Against
from mltune.workflow.run_setup import Note
from mltune.workflow.search import search
from mltune.workflow.search_result import SearchResult
from mltune.workflow.tune_compare import Chosen, compare_parts
from mltune.workflow.tune_plan import SEARCHING, Part
from mltune.workflow.tune_report import REPORT_NAME, report_text
from mltune.workflow.tune_result import Tuned, TuneResult, Written
from mltune.workflow.tune_state import Searched, TuneState, write_state

_LEAST_COMPARING = 0.05
"""The share of the time that the comparison has even where nothing is left."""
_MOST_OF_LEAST = 30.0
_LEAST_SECONDS = 2.0
"""A resumed search with less time is not worth its start."""
_BYTES_DISTILLED = 5 * BYTES_EACH
"""Of one problem type: four folds and the tree that ships."""
_BUDGET: int | None = None
"""Trials of a search: only the time ends it."""


class TuneSession:
    """One session of the command.

    Args:
        folder: of all results.
        state: at the begin.
        entry: the device.
        show: called with the progress.
        note: called with lines of text.
    """

    def __init__(
        self, folder: Path, state: TuneState, entry: DeviceEntry, show: Show, note: Note
    ) -> None:
        self._folder, self._state, self._entry = folder, state, entry
        self._show, self._note = show, note
        self._started = time.monotonic()
        self._interrupted = False
        self._stopped = ""
        self._without_rule: dict[str, MltuneError] = {}
        """The errors of problem types whose rule failed, by name."""

    @property
    def _spent(self) -> float:
        return math.fsum(each.seconds for each in self._state.searched)

    @cached_property
    def _end(self) -> float:
        return self._started + max(0.0, self._state.seconds - self._spent)

    def run(self) -> TuneResult:
        """Run all steps, and return the result."""
        end = self._end  # the time before the first search counts, too
        for number in range(len(self._state.parts)):
            if self._interrupted or self._stopped:
                break
            self._search(number)
        distilled = self._all_distilled()
        comparing = min(_MOST_OF_LEAST, _LEAST_COMPARING * self._state.seconds)
        against: tuple[Against, ...] = ()
        ended = "the device was lost" if self._stopped else "interrupted"
        lacking: tuple[str, ...] = (f"{ended} before it was compared with libraries",)
        if not self._interrupted and not self._stopped:
            try:
                against, lacking = compare_parts(
                    [self._chosen(*each) for each in distilled.items()],
                    self._state.against,
                    self._entry,
                    max(comparing, end - time.monotonic()),
                    self._show,
                    self._state.seed,
                )
            except KeyboardInterrupt:
                self._interrupted = True
        tuned = tuple(
            Tuned(
                part=self._state.parts[number],
                searched=self._state.searched[number],
                distilled=result,
            )
            for number, result in distilled.items()
        )
        libraries, refused = self._export(tuned)
        failed = [
            f"{part.name}: {each.failure}"
            for part, each in zip(self._state.parts, self._state.searched, strict=True)
            if each.failure
        ]
        result = TuneResult(
            folder=self._folder,
            state=self._state,
            device=self._entry.info,
            tuned=tuned,
            libraries=libraries,
            against=against,
            without_rule=tuple(f"{name}: {error}" for name, error in self._without_rule.items()),
            lacking=(*failed, *lacking, *refused),
            seconds=time.monotonic() - self._started,
            interrupted=self._interrupted,
            stopped=self._stopped,
        )
        write_atomically(self._folder / REPORT_NAME, report_text(result).encode())
        return result

    def _chosen(self, number: int, result: DistilResult) -> Chosen:
        part = self._state.parts[number]
        return Chosen(part, self._run_folder(part), result.path, result.seen_sizes)

    def _run_folder(self, part: Part) -> Path:
        return self._folder / "runs" / part.name

    def _has_begun(self, part: Part) -> bool:
        return (self._run_folder(part) / INFO_NAME).exists()

    def _selector_folder(self, part: Part) -> Path:
        return self._folder / "selectors" / part.name

    def _seconds_for(self, number: int) -> float:
        """Return the seconds of a search: the time left, divided by what each search lacks."""
        total = SEARCHING * self._state.seconds
        pairs = list(zip(self._state.parts, self._state.searched, strict=True))[number:]
        lacks = [
            0.0 if each.used_up else max(0.0, part.share * total - each.seconds)
            for part, each in pairs
        ]
        seconds = max(0.0, total - self._spent) * lacks[0] / (math.fsum(lacks) or 1.0)
        is_new = self._state.searched[number] == Searched()
        least = max(_LEAST_SECONDS, self._state.parts[number].share * total / 4)
        return max(seconds, least) if is_new else seconds

    def _search(self, number: int) -> None:
        part, before = self._state.parts[number], self._state.searched[number]
        seconds = self._seconds_for(number)
        folder = self._run_folder(part)
        resume = self._has_begun(part)
        if seconds < _LEAST_SECONDS:
            return
        self._note(f"{part.name} ({number + 1} of {len(self._state.parts)}): {seconds:.0f} s")
        began = time.monotonic()
        result: SearchResult | None = None
        failure = ""
        try:
            result = search(
                self._options(part, folder, seconds, resume=resume),
                self._whole(part.name, number),
                lambda line: None,
            )
            self._interrupted, self._stopped = result.interrupted, result.stopped
        except KeyboardInterrupt:
            self._interrupted = True
        except (DiskFullError, NoDeviceError, UsageError):
            raise
        except MltuneError as error:  # other problem types may still work
            failure = str(error)
        searched = replace(
            before, seconds=before.seconds + time.monotonic() - began, failure=failure
        )
        if result is not None:
            gain = result.expected_gain
            searched = replace(
                searched,
                trials=result.trials,
                used_up=result.stop_reason is StopReason.SPACE,
                ahead_gain=None if gain is None else gain.ahead_gain,
                over_default=result.gain.to_json()["over_default"] or before.over_default,
            )
        each = list(self._state.searched)
        each[number] = searched
        self._state = replace(self._state, searched=tuple(each))
        write_state(self._state, self._folder)

    def _options(self, part: Part, folder: Path, seconds: float, *, resume: bool) -> SearchOptions:
        asked = SearchOptions(
            command=("mltune", "tune"),
            device=self._state.device,
            budget=_BUDGET,
            time_limit_seconds=seconds,
            folder=folder,
            resume=resume,
        )
        if resume:
            return asked
        return replace(
            asked,
            problem=part.name,
            sizes=part.sizes or None,
            space=self._state.spaces,
            seed=self._state.seed,
            priors=(SHIPPED_PRIORS, *self._known(part)),
        )

    def _known(self, part: Part) -> tuple[Path, ...]:
        """The runs of other problem types of the same precision, the newest first.

        A search of a single space does not try their kernels.
        """
        if self._state.spaces != (AUTO,) and len(self._state.spaces) == 1:
            return ()
        others = [
            self._run_folder(each)
            for each, searched in zip(self._state.parts, self._state.searched, strict=True)
            if each.contraction.precision is part.contraction.precision
            and each.name != part.name
            and searched.trials
        ]
        return (*reversed(others),)

    def _pack(self, part: Part) -> Path | None:
        """The pack of this device, unless the user chose the spaces of the kernels."""
        if self._state.spaces != (AUTO,):
            return None
        return pack_of(self._entry.info, part.contraction)

    def _whole(self, name: str, number: int) -> Show:
        """Show a search as a part of the whole, with the time left of the whole."""
        of = f"{number + 1}/{len(self._state.parts)} {name}"

        def shown(progress: Progress) -> None:
            total = 0 if progress.phase == "search" else progress.total
            left = max(0.0, self._end - time.monotonic())
            phase = f"{of} {progress.phase}"
            self._show(replace(progress, phase=phase, total=total, seconds_left=left))

        return shown

    def _distil(self, number: int) -> DistilResult | MltuneError | None:
        """Distil what has a right kernel; None if nothing has, an error if there is no rule."""
        part = self._state.parts[number]
        options = DistilOptions(
            runs=(self._run_folder(part),),
            output=self._selector_folder(part),
            seed=self._state.seed,
            known=self._pack(part),
        )
        searched = self._state.searched[number]
        try:
            return distil_runs(options, ignore_progress)
        except NoCorrectConfigError as error:
            return None if searched.failure else error
        except UsageError as error:
            return error if searched.trials else None  # there is no measurement
        except MltuneError as error:
            return error

    def _each_distilled(
        self, numbers: Sequence[int]
    ) -> Iterator[DistilResult | MltuneError | None]:
        """Distil several parts at a time; an error of one leaves the others alone."""
        left = list(numbers)
        while left:
            try:
                for result in side_by_side(self._distil, tuple(left), _BYTES_DISTILLED):
                    yield result
                    left.pop(0)
            except MltuneError as error:  # the system ended the process
                yield error
                left.pop(0)

    def _all_distilled(self) -> dict[int, DistilResult]:
        """Distil all runs, by the number of the part, several at a time."""
        parts = self._state.parts
        begun = [i for i, part in enumerate(parts) if self._has_begun(part)]
        distilled: dict[int, DistilResult] = {}
        results = self._each_distilled(begun)
        for done in range(len(begun)):
            left = max(0.0, self._end - time.monotonic())
            self._show(Progress(phase="distil", done=done, total=len(begun), seconds_left=left))
            result = next(results)
            name = parts[begun[done]].name
            if isinstance(result, MltuneError):
                self._without_rule[name] = result
            elif result is not None:
                distilled[begun[done]] = result
                if result.kept:
                    self._note(f"{name}: {result.kept}")
        if not distilled:
            if self._interrupted:
                raise KeyboardInterrupt
            if self._stopped:
                raise DeviceGoneError(self._stopped)
            for error in self._without_rule.values():
                raise error
            reasons = [each.failure for each in self._state.searched if each.failure]
            raise NoCorrectConfigError(f"{self._folder}: nothing was found ({'; '.join(reasons)})")
        return distilled

    def _export(self, tuned: Sequence[Tuned]) -> tuple[tuple[Written, ...], tuple[str, ...]]:
        """Write the libraries; if one cannot be written, the others still are."""
        written, refused = [], []
        for language in self._state.languages:
            folder = self._folder / "library" / language
            if language in SET_WRITERS:
                wanted = {folder: tuned}
            else:
                wanted = {folder / each.part.name: (each,) for each in tuned}
            for place, group in wanted.items():
                selectors = [each.distilled.selector for each in group]
                name = DEFAULT_NAME if language in SET_WRITERS else None
                try:
                    export_selectors(selectors, language, place, name=name)
                except MltuneError as error:
                    of = f" for {group[0].part.name}" if name is None else ""
                    refused.append(f"no library in {language}{of}: {error}")
                else:
                    written.append(Written(language, place))
        return tuple(written), tuple(refused)
