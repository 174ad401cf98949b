"""One session of `mltune tune`: searches by their shares of the time, then the other steps."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from mltune.device import DeviceEntry
from mltune.errors import MltuneError, NoCorrectConfigError, NoDeviceError, UsageError
from mltune.export import SET_WRITERS
from mltune.files import write_atomically
from mltune.run.run import INFO_NAME
from mltune.runner.opening import Opening
from mltune.selector.pack import SELECTOR_NAME
from mltune.space.shipped import AUTO
from mltune.tuning.progress import Progress, Show
from mltune.tuning.search_options import SHIPPED_PRIORS, SearchOptions
from mltune.tuning.stop_reason import StopReason
from mltune.workflow.distil import DistilOptions, DistilResult, distil_runs
from mltune.workflow.export import DEFAULT_NAME, export_selectors
from mltune.workflow.known_pack import pack_of
from mltune.workflow.program_gain import Against
from mltune.workflow.run_setup import Note
from mltune.workflow.search import SearchResult, search
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
        self._distilled: dict[int, DistilResult] = {}
        self._opening: Opening | None = None

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
            self._open_ahead(number + 1)
            self._distil_early(number)
        self._close_ahead()
        distilled = self._all_distilled()
        comparing = min(_MOST_OF_LEAST, _LEAST_COMPARING * self._state.seconds)
        against: tuple[Against, ...] = ()
        lacking: tuple[str, ...] = ("interrupted before it was compared with libraries",)
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
        resume = (folder / INFO_NAME).exists()
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
                self._opening,
            )
            self._interrupted, self._stopped = result.interrupted, result.stopped
        except KeyboardInterrupt:
            self._interrupted = True
        except (NoDeviceError, UsageError):
            raise
        except MltuneError as error:  # other problem types may still work
            failure = str(error)
        finally:
            self._close_ahead()
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
        """The selectors of other problem types of the same precision, the newest first."""
        precision = part.contraction.precision
        others = [
            self._selector_folder(each) / SELECTOR_NAME
            for each in reversed(self._state.parts)
            if each.contraction.precision == precision and each.name != part.name
        ]
        return tuple(path for path in others if path.exists())

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

    def _open_ahead(self, number: int) -> None:
        """Let the processes of the next search begin while kernels are chosen.

        On a GPU they take seconds. A processor would choose more slowly meanwhile.
        """
        if self._interrupted or self._stopped or self._entry.info.kind == "cpu":
            return
        if number < len(self._state.parts) and self._seconds_for(number) >= _LEAST_SECONDS:
            self._opening = Opening(self._state.device, builders=None)

    def _close_ahead(self) -> None:
        """End processes that no search has taken; of those that one took nothing is left."""
        if self._opening is not None:
            self._opening.close()
        self._opening = None

    def _distil_early(self, number: int) -> None:
        """Distil between searches: the kernels are tried first for the next problem type."""
        if self._interrupted or self._stopped:
            return
        try:
            self._distil(number)
        except KeyboardInterrupt:
            self._interrupted = True

    def _distil(self, number: int) -> None:
        """Distil what has a right kernel."""
        part = self._state.parts[number]
        folder = self._run_folder(part)
        if not (folder / INFO_NAME).exists():
            return
        options = DistilOptions(
            runs=(folder,),
            output=self._selector_folder(part),
            seed=self._state.seed,
            known=self._pack(part),
        )
        with suppress(NoCorrectConfigError):
            try:
                result = distil_runs(options, self._whole(part.name, number))
                self._distilled[number] = result
                if result.kept:
                    self._note(f"{part.name}: {result.kept}")
            except UsageError:  # there is no measurement
                if self._state.searched[number].trials:
                    raise

    def _all_distilled(self) -> dict[int, DistilResult]:
        """Distil what is left, by the number of the part."""
        for number in range(len(self._state.parts)):
            if number not in self._distilled:
                self._distil(number)
        if not self._distilled:
            reasons = [each.failure for each in self._state.searched if each.failure]
            if self._interrupted:
                raise KeyboardInterrupt
            raise NoCorrectConfigError(f"{self._folder}: nothing was found ({'; '.join(reasons)})")
        return dict(sorted(self._distilled.items()))

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
                    refused.append(f"no library in {language}: {error}")
                else:
                    written.append(Written(language, place))
        return tuple(written), tuple(refused)
