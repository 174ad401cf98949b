"""`mltune tune`: from calls or problem types to a library and its gain, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from mltune.bench.peers import PEERS, absence
from mltune.counted import counted
from mltune.device import DeviceEntry, choose
from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, DiskFullError, UsageError
from mltune.export import LANGUAGES, SET_WRITERS, WITHOUT_HALF
from mltune.files import make_folder
from mltune.problem import problem_of_size
from mltune.problem.call_file import read_calls
from mltune.problem.calls import check_gemms, parse_problem_types
from mltune.problem.precision import Precision
from mltune.problem.sizes import parse_sizes
from mltune.run.host import Host
from mltune.run.lock import FolderLock
from mltune.runner.capacity import refuse_too_large
from mltune.shell import command
from mltune.space.shipped import AUTO
from mltune.tuning.progress import Show
from mltune.tuning.search_options import check_kinds, plain_numbers
from mltune.unknown import unknown
from mltune.workflow.chosen_spaces import check_spaces
from mltune.workflow.run_setup import Note
from mltune.workflow.tune_plan import SEARCHING, Part, plan_of_calls, plan_of_types
from mltune.workflow.tune_result import CLBLAST, TuneResult
from mltune.workflow.tune_session import TuneSession
from mltune.workflow.tune_state import STATE_NAME, TuneState, read_state, write_state

DEFAULT_SECONDS = 600.0
DEFAULT_FOLDER = Path("tuned")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """The options of `mltune tune`; None stands for an option that was not given.

    Attributes:
        calls: a file of a program's calls.
        problems: problem types, as `parse_problem_types` reads them.
        sizes: for `problems`, as `--sizes` of a search.
        seconds: the time limit of all sessions together.
        folder: of all results.
        space: as for a search.
        against: names of libraries to compare with.
        languages: of the library.
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

    def __post_init__(self) -> None:
        plain_numbers(self)


def tune(options: TuneOptions, show: Show, note: Note) -> TuneResult:
    """Plan, search each problem type, distil, compare, and write a library and a report.

    Ctrl-C during the searches ends them; the results so far are exported.

    Args:
        options: of the verb.
        show: called with the progress.
        note: called with lines of text: the plan, then each step.

    Raises:
        UsageError: when an option or a file is wrong, or nothing is left to tune.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when no kernel was right.
        MltuneError: when something cannot be written.
    """
    check_kinds(options, {"calls", "folder"})
    begin = _resumed if options.resume else _begun
    with ExitStack() as stack:
        if options.resume and not options.dry_run and (options.folder / STATE_NAME).exists():
            stack.enter_context(closing(FolderLock(options.folder, "-o")))
        state, entry = begin(options)
        for line in plan_lines(state, entry.info):
            note(line)
        if options.dry_run:
            return TuneResult(folder=options.folder, state=state, device=entry.info)
        make_folder(options.folder)
        if not options.resume:
            stack.enter_context(closing(FolderLock(options.folder, "-o")))
            _refuse_tuned(options.folder)  # by another process since then
        write_state(state, options.folder)
        return _run(TuneSession(options.folder, state, entry, show, note), options.folder, note)


def _run(session: TuneSession, folder: Path, note: Note) -> TuneResult:
    if (host := Host.here()).is_busy:
        busy = f"a load of {host.load:.1f} on {counted(host.cores, 'core')}"
        note(f"other work keeps the processor busy: {busy}")
    again = command("mltune", "tune", "--resume", "-o", folder)
    try:
        return session.run()
    except (KeyboardInterrupt, DeviceGoneError):
        note(f"resume with: {again}")
        raise
    except DiskFullError as error:
        raise error.resumed_by(again) from error


def _begun(options: TuneOptions) -> tuple[TuneState, DeviceEntry]:
    """Check the options, and plan."""
    was_tuned = (options.folder / STATE_NAME).exists() and not options.dry_run
    if options.calls is None and not options.problems and not was_tuned:
        raise UsageError("tune: needs --for CALLS.csv, or --problems such as sgemm,hgemm_nt")
    if options.calls is not None and options.sizes is not None:
        raise UsageError("--sizes: cannot go with --for, which names the sizes")
    contractions = parse_problem_types(options.problems) if options.problems else ()
    check_gemms(contractions)
    spaces = tuple(map(_from_anywhere, options.space or (AUTO,)))
    check_spaces(spaces)
    calls = None if options.calls is None else read_calls(options.calls, contractions)
    if not options.dry_run:
        _refuse_tuned(options.folder)
    sizes = () if options.sizes is None else parse_sizes(options.sizes)
    problems = [problem_of_size(each, size.extents) for each in contractions for size in sizes]
    against = options.against
    _check_words(against or (), options.languages or ())
    device = options.device or "auto"
    entry = choose(device)
    refuse_too_large(problems, entry.info)
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
        against=tuple(against),
        languages=tuple(options.languages or _languages(parts)),
        parts=parts,
        left_out=left_out,
    )
    return state, entry


def _from_anywhere(space: str) -> str:
    """Return a file's absolute path, as a command may be resumed in another folder."""
    return str(Path(space).absolute()) if space != AUTO and Path(space).is_file() else space


def _refuse_tuned(folder: Path) -> None:
    if (folder / STATE_NAME).exists():
        raise UsageError(
            f"{folder}: was tuned before (--resume continues; -o names another folder)"
        )


def _languages(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return C, and the replacement of CLBlast if the program calls that."""
    calls_clblast = any(CLBLAST in part.interfaces for part in parts)
    return ("c", CLBLAST) if calls_clblast and CLBLAST in SET_WRITERS else ("c",)


def _check_words(against: tuple[str, ...], languages: tuple[str, ...]) -> None:
    for name in against:
        if name not in PEERS:
            raise UsageError(f"against: {unknown('library', name, PEERS)}")
    for name in languages:
        if name not in LANGUAGES:
            raise UsageError(f"lang: {unknown('language', name, LANGUAGES)}")


def _resumed(options: TuneOptions) -> tuple[TuneState, DeviceEntry]:
    """Resume a folder; only time, device number, libraries and languages may change."""
    state = read_state(options.folder)
    for name, given in (
        ("--for", options.calls),
        ("--problems", options.problems),
        ("--sizes", options.sizes),
        ("--space", options.space),
        ("--seed", options.seed),
    ):
        if given is not None:
            raise UsageError(f"{name}: cannot go with --resume, which continues the same plan")
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
        device=options.device or state.device,
        against=tuple(options.against or state.against),
        languages=tuple(options.languages or state.languages),
    ), entry


def plan_lines(state: TuneState, device: DeviceInfo) -> tuple[str, ...]:
    """Return the plan as text."""
    minutes = state.seconds / 60
    whole = f"{minutes:.0f} min" if minutes >= 2 else f"{state.seconds:.0f} s"
    reasons = {name: absence(name, device) for name in state.against}
    present = [name for name, reason in reasons.items() if not reason]
    absent = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
    types = counted(len(state.parts), "problem type")
    lines = [f"plan: {types} on {device.name}, {whole}"]
    for part, searched in zip(state.parts, state.searched, strict=True):
        sizes = counted(len(part.sizes), "size") if part.sizes else "a suite of sizes"
        calls = f", {counted(part.calls, 'call')}" if part.is_counted else ""
        most = f" ({part.covered:.0%} of their cost)" if part.covered < 0.995 else ""
        before = f", {searched.seconds:.0f} s done" if searched.seconds else ""
        lines.append(
            f"  {part.name}: {SEARCHING * part.share * state.seconds:.0f} s{before}, "
            f"{sizes}{calls}{most}, families {', '.join(part.families)}"
        )
    half = [part.name for part in state.parts if part.contraction.precision is Precision.HALF]
    lines += [
        f"  {language} has no half precision: no library for {', '.join(half)}"
        for language in state.languages
        if half and language in WITHOUT_HALF
    ]
    lines += [f"  left out: {each.what} ({each.reason})" for each in state.left_out]
    beside = f"  compared with: {', '.join(present) or 'nothing'}"
    lines.append(beside + (f"; not with {', '.join(absent)}" if absent else ""))
    return tuple(lines)
