"""`mltune tune`: from calls or problem types to a library and what it gains, in one command."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mltune.bench.peers import PEERS, absence
from mltune.device import DeviceEntry, choose
from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError, NoCorrectConfigError, NoDeviceError, UsageError
from mltune.export import SET_WRITERS, WRITERS
from mltune.files import make_folder, write_atomically
from mltune.problem import Size, merge_sizes, problem_of_size
from mltune.problem.call_file import read_calls
from mltune.problem.calls import check_gemms, parse_problem_types
from mltune.problem.sizes import parse_sizes
from mltune.run.host import Host
from mltune.run.run import INFO_NAME, read_info
from mltune.shell import command
from mltune.space.shipped import AUTO
from mltune.tuning.cross_sizes import spread_order
from mltune.tuning.progress import Progress, Show
from mltune.tuning.search_options import SearchOptions
from mltune.tuning.stop_reason import StopReason
from mltune.workflow.chosen_spaces import check_spaces
from mltune.workflow.comparing import bench_apart
from mltune.workflow.distil import DistilOptions, DistilResult, distil_runs
from mltune.workflow.export import DEFAULT_NAME, export_selectors
from mltune.workflow.program_gain import Against, compared
from mltune.workflow.run_setup import Note
from mltune.workflow.search import SearchResult, search
from mltune.workflow.tune_plan import Part, expected_seconds, plan_of_calls, plan_of_types
from mltune.workflow.tune_report import counted, report_text
from mltune.workflow.tune_state import STATE_NAME, Searched, TuneState, read_state, write_state

DEFAULT_SECONDS = 600.0
DEFAULT_FOLDER = Path("tuned")
CLBLAST = "clblast"
REPORT_NAME = "report.md"

_SEARCHING = 0.8
"""Of the time; the rest is for distilling, and for comparing with other libraries."""
_COMPARING = 0.1
_MOST_COMPARING = 60.0
_LEAST_SECONDS = 2.0
"""A search that is resumed for less is not worth its start."""
_BUDGET: int | None = None
"""Trials of a search: the time alone ends it."""
_MAX_KERNELS = 24
_ROUNDS = 9
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """The options of `mltune tune`; None stands for an option that was not given.

    Attributes:
        calls: a file of a program's calls.
        problems: problem types, as `parse_problem_types` reads them.
        sizes: for `problems`, as `--sizes` of a search.
        seconds: that the command may take, over all its sessions.
        folder: where everything is kept.
        space: as of a search.
        against: names of libraries to compare with.
        languages: that the library is written in.
    """

    calls: Path | None = None
    problems: str | None = None
    sizes: str | None = None
    seconds: float | None = None
    folder: Path = DEFAULT_FOLDER
    device: str | None = None
    seed: int | None = None
    space: tuple[str, ...] | None = None
    against: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    resume: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """One problem type that was tuned."""

    part: Part
    searched: Searched
    distilled: DistilResult

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        rows = {row.rule: row for row in self.distilled.rows}
        rule = rows.get(self.distilled.rule)
        return {
            "problem": self.part.name,
            "trials": self.searched.trials,
            "seconds": self.searched.seconds,
            "kernels": len(self.distilled.selector.portfolio),
            "selector": str(self.distilled.path),
            "unseen_sizes": rule.regret.geomean if rule else None,
            "ahead_gain": self.searched.ahead_gain,
        }


@dataclass(frozen=True, slots=True)
class Written:
    """A library in one language; of languages that take one problem type, one of several."""

    language: str
    folder: Path

    @property
    def command(self) -> str:
        """What puts it to use."""
        folder = command(self.folder)
        if self.language == "clblast":
            library = command(self.folder / f"lib{DEFAULT_NAME}_clblast.so")
            return f"make -C {folder} && LD_PRELOAD={library} PROGRAM"
        verb = {"c": "make -C", "python": "pip install"}.get(self.language, "ls")
        return f"{verb} {folder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What was tuned, and what it gains.

    Attributes:
        tuned: what has a selector; of a plan that was only asked for, nothing.
        libraries: of all of it.
        against: the libraries that the tuned kernels were compared with.
        lacking: what is not known, and why.
        seconds: that this session took.
        stopped: why it ended early; empty if it did not.
    """

    folder: Path
    state: TuneState
    device: DeviceInfo
    tuned: tuple[Tuned, ...] = ()
    libraries: tuple[Written, ...] = ()
    against: tuple[Against, ...] = ()
    lacking: tuple[str, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False
    stopped: str = ""

    @property
    def exit_code(self) -> int:
        """0, 130 when it was interrupted, or 4 when the device was lost."""
        return 130 if self.interrupted else 4 if self.stopped else 0

    @property
    def is_counted(self) -> bool:
        """Whether it is known how often the program makes its calls."""
        return all(part.is_counted for part in self.state.parts)

    @property
    def ahead_gain(self) -> float | None:
        """The share of the time that more trials are expected to save, by the parts' shares."""
        known = [
            (part.share, each.ahead_gain)
            for part, each in zip(self.state.parts, self.state.searched, strict=True)
            if each.ahead_gain is not None
        ]
        total = math.fsum(share for share, _ in known)
        return math.fsum(share * gain for share, gain in known) / total if total else None

    @property
    def next_commands(self) -> tuple[str, ...]:
        """What the user would type next."""
        if not self.tuned and not self.interrupted and not self.stopped:
            return ()
        longer = f"{2 * self.state.seconds:.0f}s"
        resume = ("mltune", "tune", "--resume", "-o", self.folder)
        if self.interrupted or self.stopped:
            return (f"{self.stopped or 'interrupted'}; resume with: {command(*resume)}",)
        lines = [f"next: {each.command}" for each in self.libraries]
        return (*lines, f"or more of it: {command(*resume, '--time', longer)}")

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "folder": str(self.folder),
            "device": self.device.name,
            "driver": self.device.driver_version,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "plan": self.state.to_json(),
            "tuned": [each.to_json() for each in self.tuned],
            "libraries": [
                {"language": each.language, "folder": str(each.folder)} for each in self.libraries
            ],
            "against": {each.library: each.to_json() for each in self.against},
            "ahead_gain": self.ahead_gain,
            "lacking": list(self.lacking),
        }


def tune(options: TuneOptions, show: Show, note: Note) -> TuneResult:
    """Plan, search each problem type, distil, compare, and write a library and a report.

    Ctrl-C during the searches ends them; what was found until then is exported all the same.

    Args:
        options: what was asked.
        show: is told about the progress.
        note: is told single lines: the plan, then what begins.

    Raises:
        UsageError: when an option or a file is wrong, or nothing is left to tune.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when no kernel was right.
        MltuneError: when something cannot be written.
    """
    begin = _resumed if options.resume else _begun
    state, entry = begin(options)
    for line in plan_lines(state, entry.info):
        note(line)
    if options.dry_run:
        return TuneResult(folder=options.folder, state=state, device=entry.info)
    make_folder(options.folder)
    write_state(state, options.folder)
    if (host := Host.here()).is_busy:
        busy = f"a load of {host.load:.1f} on {host.cores} cores"
        note(f"other work keeps the processor busy: {busy}")
    try:
        return _Tuning(options.folder, state, entry, show, note).run()
    except KeyboardInterrupt:
        note(f"resume with: {command('mltune', 'tune', '--resume', '-o', options.folder)}")
        raise


def _begun(options: TuneOptions) -> tuple[TuneState, DeviceEntry]:
    """Check what was asked, and plan."""
    if (options.folder / STATE_NAME).exists() and not options.dry_run:
        raise UsageError(
            f"{options.folder}: was tuned into before (--resume goes on; -o names another folder)"
        )
    if options.calls is None and options.problems is None:
        raise UsageError("tune: needs --for CALLS.csv, or --problems such as sgemm,hgemm_nt")
    if options.calls is not None and options.sizes is not None:
        raise UsageError("--sizes: cannot go with --for, which names the sizes")
    contractions = parse_problem_types(options.problems) if options.problems else ()
    check_gemms(contractions)
    spaces = options.space or (AUTO,)
    check_spaces(spaces)
    calls = None if options.calls is None else read_calls(options.calls, contractions)
    check_gemms(each.contraction for each in calls or ())
    sizes = parse_sizes(options.sizes) if options.sizes else ()
    for contraction in contractions:
        for size in sizes:
            problem_of_size(contraction, size.extents)
    against = options.against
    _check_words(against or (), options.languages or ())
    device = options.device or "auto"
    entry = choose(device)
    if calls is None:
        parts, left_out = plan_of_types(contractions, sizes, entry.info, spaces)
    else:
        parts, left_out = plan_of_calls(calls, entry.info, spaces)
    if against is None:
        against = ("clblast", "numpy" if entry.info.kind == "cpu" else "cublas")
    state = TuneState(
        seconds=options.seconds or DEFAULT_SECONDS,
        device=device,
        model=entry.info.model,
        seed=options.seed or 0,
        spaces=spaces,
        against=against,
        languages=options.languages or _languages(parts),
        parts=parts,
        left_out=left_out,
    )
    return state, entry


def _languages(parts: Sequence[Part]) -> tuple[str, ...]:
    """C; and what takes CLBlast's place, where the program calls it."""
    calls_clblast = any(CLBLAST in part.interfaces for part in parts)
    return ("c", CLBLAST) if calls_clblast and CLBLAST in SET_WRITERS else ("c",)


def _check_words(against: tuple[str, ...], languages: tuple[str, ...]) -> None:
    for name in against:
        if name not in PEERS:
            raise UsageError(f"against: unknown '{name}' (known: {', '.join(PEERS)})")
    known = dict.fromkeys((*WRITERS, *SET_WRITERS))
    for name in languages:
        if name not in known:
            raise UsageError(f"lang: unknown '{name}' (known: {', '.join(known)})")


def _resumed(options: TuneOptions) -> tuple[TuneState, DeviceEntry]:
    """Go on with what a folder holds; only time, libraries and language may be new."""
    state = read_state(options.folder)
    for name, given in (
        ("--for", options.calls),
        ("--problems", options.problems),
        ("--sizes", options.sizes),
        ("--space", options.space),
        ("--seed", options.seed),
    ):
        if given is not None:
            raise UsageError(f"{name}: cannot go with --resume, which goes on with the same plan")
    _check_words(options.against or (), options.languages or ())
    entry = choose(options.device or state.device)
    if entry.info.model != state.model:
        raise UsageError(
            f"{options.folder}: was begun on {state.model}, this is {entry.info.model}; "
            "tune into another folder"
        )
    return replace(
        state,
        seconds=options.seconds or state.seconds,
        against=options.against or state.against,
        languages=options.languages or state.languages,
    ), entry


def plan_lines(state: TuneState, device: DeviceInfo) -> tuple[str, ...]:
    """Say what will be done, for people."""
    minutes = state.seconds / 60
    whole = f"{minutes:.0f} min" if minutes >= 2 else f"{state.seconds:.0f} s"
    reasons = {name: absence(name, device) for name in state.against}
    present = [name for name, reason in reasons.items() if not reason]
    absent = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
    types = counted(len(state.parts), "problem type")
    lines = [f"plan: {types} on {device.name}, {whole}"]
    for part, searched in zip(state.parts, state.searched, strict=True):
        sizes = counted(len(part.sizes), "size") if part.sizes else "a suite of sizes"
        calls = f", {part.calls:,} calls" if part.is_counted else ""
        most = f" ({part.covered:.0%} of their cost)" if part.covered < 0.995 else ""
        before = f", {searched.seconds:.0f} s done" if searched.seconds else ""
        lines.append(
            f"  {part.name}: {_SEARCHING * part.share * state.seconds:.0f} s{before}, "
            f"{sizes}{calls}{most}, families {', '.join(part.families)}"
        )
    lines += [f"  left out: {each.what} ({each.reason})" for each in state.left_out]
    beside = f"  compared with: {', '.join(present) or 'nothing'}"
    lines.append(beside + (f"; not with {', '.join(absent)}" if absent else ""))
    return tuple(lines)


class _Tuning:
    """One session of the command.

    Args:
        folder: that holds everything.
        state: that it begins with.
        entry: the device.
        show: is told about the progress.
        note: is told single lines.
    """

    def __init__(
        self, folder: Path, state: TuneState, entry: DeviceEntry, show: Show, note: Note
    ) -> None:
        self._folder, self._state, self._entry = folder, state, entry
        self._show, self._note = show, note
        self._started = time.monotonic()
        self._interrupted = False
        self._stopped = ""

    @property
    def _spent(self) -> float:
        return math.fsum(each.seconds for each in self._state.searched)

    @cached_property
    def _end(self) -> float:
        return self._started + max(0.0, self._state.seconds - self._spent)

    def run(self) -> TuneResult:
        """Do it."""
        end = self._end  # before the first search counts as spent
        for number in range(len(self._state.parts)):
            if self._interrupted or self._stopped:
                break
            self._search(number)
        distilled = self._distil()
        comparing = min(_MOST_COMPARING, _COMPARING * self._state.seconds)
        against: tuple[Against, ...] = ()
        lacking: tuple[str, ...] = ("interrupted before it was compared with libraries",)
        if not self._interrupted and not self._stopped:
            against, lacking = self._compare(distilled, max(comparing, end - time.monotonic()))
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

    def _run_folder(self, part: Part) -> Path:
        return self._folder / "runs" / part.name

    def _seconds_for(self, number: int) -> float:
        """What a search gets: what is left, shared by what each one lacks of its share."""
        total = _SEARCHING * self._state.seconds
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
            )
            self._interrupted, self._stopped = result.interrupted, result.stopped
        except KeyboardInterrupt:
            self._interrupted = True
        except (NoDeviceError, UsageError):
            raise
        except MltuneError as error:  # another problem type may do better
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
        )

    def _whole(self, name: str, number: int) -> Show:
        """Show a search as a part of the whole, whose time is left."""
        of = f"{number + 1}/{len(self._state.parts)} {name}"

        def shown(progress: Progress) -> None:
            total = 0 if progress.phase == "search" else progress.total
            left = max(0.0, self._end - time.monotonic())
            phase = f"{of} {progress.phase}"
            self._show(replace(progress, phase=phase, total=total, seconds_left=left))

        return shown

    def _distil(self) -> dict[int, DistilResult]:
        """Distil what has a right kernel, by the number of the part."""
        found: dict[int, DistilResult] = {}
        for number, part in enumerate(self._state.parts):
            folder = self._run_folder(part)
            if not (folder / INFO_NAME).exists():
                continue
            options = DistilOptions(
                runs=(folder,),
                output=self._folder / "selectors" / part.name,
                max_kernels=_MAX_KERNELS,
                seed=self._state.seed,
            )
            with suppress(NoCorrectConfigError):
                try:
                    found[number] = distil_runs(options, self._whole(part.name, number))
                except UsageError:  # without a measurement
                    if self._state.searched[number].trials:
                        raise
        if not found:
            reasons = [each.failure for each in self._state.searched if each.failure]
            if self._interrupted:
                raise KeyboardInterrupt
            raise NoCorrectConfigError(f"{self._folder}: nothing was found ({'; '.join(reasons)})")
        return found

    def _compare(
        self, distilled: Mapping[int, DistilResult], seconds: float
    ) -> tuple[tuple[Against, ...], tuple[str, ...]]:
        """Time the libraries beside the tuned kernels on the sizes that cost most."""
        names = [n for n in self._state.against if not absence(n, self._entry.info)]
        if not names:
            return (), ("no library to compare with is installed",)
        documents: dict[str, dict[str, Any]] = {}
        counts: dict[str, dict[tuple[int, ...], int]] = {}
        lacking = []
        shares = {number: self._state.parts[number].share for number in distilled}
        for number, result in distilled.items():
            part = self._state.parts[number]
            self._show(Progress(phase=f"compare {part.name}", done=number, total=len(shares)))
            sizes = self._compared_sizes(part)
            counts[part.name] = {size.extents: size.count for size in sizes}
            limit = seconds * shares[number] / math.fsum(shares.values())
            document = bench_apart(
                result.path,
                names,
                self._entry.number,
                [size.extents for size in sizes],
                limit,
                rounds=_ROUNDS,
                start_seconds=_START_SECONDS,
            )
            if isinstance(document, str):
                lacking.append(f"{part.name} beside libraries: {document}")
                continue
            documents[part.name] = document
            if disturbed := sum(bool(size["disturbed"]) for size in document["sizes"]):
                lacking.append(f"{part.name}: other work disturbed {disturbed} sizes")
            if (left := len(sizes) - len(document["sizes"])) > 0:
                lacking.append(f"{part.name}: no time to compare {left} of {len(sizes)} sizes")
        return compared(documents, counts, names), tuple(lacking)

    def _compared_sizes(self, part: Part) -> tuple[Size, ...]:
        """The sizes of a part, the most costly first; spread out where nobody counted."""
        sizes = read_info(self._run_folder(part)).sizes
        if not part.is_counted:
            order = spread_order([size.extents for size in sizes], [sizes[0].extents])
            return tuple(sizes[number] for number in order)
        device, contraction = self._entry.info, part.contraction

        def cost(size: Size) -> float:
            return -size.count * expected_seconds(
                problem_of_size(contraction, size.extents), device
            )

        return tuple(sorted(merge_sizes(sizes), key=cost))

    def _export(self, tuned: Sequence[Tuned]) -> tuple[tuple[Written, ...], tuple[str, ...]]:
        """Write the libraries; what cannot be written costs nothing of the rest."""
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
