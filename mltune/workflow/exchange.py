"""`mltune import` and `convert`: between other programs' files and mltune's."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.compat.autogemm_data import SECTION as AUTOGEMM
from mltune.compat.autogemm_data import read_selection_data
from mltune.compat.foreign.text import read_text
from mltune.compat.foreign.write import WRITERS
from mltune.compat.t1 import SECTION as T1_SECTION
from mltune.compat.t1 import from_t1, to_t1
from mltune.compat.tensile import parse_protocol
from mltune.compat.tensile.logic import parse_logic
from mltune.compat.tensile.logic_text import logic_text
from mltune.compat.tensile.space_text import space_of_configs
from mltune.errors import UsageError
from mltune.files import make_folder, write_atomically
from mltune.kernel.handwritten import Description
from mltune.kernel.handwritten.read import read_files, read_kept
from mltune.kernel.handwritten.write import to_files
from mltune.kernel.parameters.tiled import TILED as PARAMETERS
from mltune.kernel.space_file import parse_space
from mltune.problem import Contraction, Size, merge_sizes, problem_type_name
from mltune.reading import parse_json
from mltune.run.bundle import FORMAT as BUNDLE_FORMAT
from mltune.run.bundle import read_bundle, unpack, write_bundle
from mltune.run.run import INFO_NAME, Run
from mltune.selector import Selector
from mltune.selector.json import FORMAT as SELECTOR_FORMAT
from mltune.selector.json import read_selector, write_selector
from mltune.selector.pack import SELECTOR_NAME
from mltune.shell import command
from mltune.space.config import Config
from mltune.space.yaml_document import parse_document
from mltune.tuning.final_selection import choose
from mltune.workflow.distil import refuse_run
from mltune.workflow.foreign_selector import (
    TILED,
    logic_of_selector,
    rule_of_run,
    selector_of_logic,
    selectors_of_autogemm,
)
from mltune.workflow.recordings import read_any
from mltune.workflow.shipped_priors import SHIPPED

NO_LICENCE = "not stated"
IMPORTED = Path("imported")


@dataclass(frozen=True, slots=True)
class Converted:
    """The files that were written, and what is missing in them.

    Attributes:
        kind: of the file that was read, for information.
        notes: one line for everything that could not be converted.
        next_command: a command that uses the files.
    """

    source: Path
    kind: str
    target: str
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    next_command: str

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "source": str(self.source),
            "kind": self.kind,
            "target": self.target,
            "files": [str(file) for file in self.files],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One file to convert.

    Attributes:
        text: of the file; empty for a folder.
    """

    source: Path
    text: str
    out: Path
    licence: str


Result = tuple[Sequence[Path], Sequence[str], str]
"""The files, notes, and the next command."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of file.

    Attributes:
        name: for information.
        targets: the forms it can be converted to; `mltune import` takes the first.
    """

    name: str
    targets: dict[str, Callable[[_Job], Result]]


def import_files(paths: Sequence[Path], out: Path | None) -> tuple[Converted, ...]:
    """Convert files of other programs, and bundles, to mltune's own form.

    Args:
        paths: of the files.
        out: the folder to write into; None for `imported`, or `runs` for a bundle.

    Raises:
        UsageError: when one cannot be read or is mltune's own, or a result exists already.
        MltuneError: when something cannot be written.
    """
    done = []
    sources: dict[Path, Path] = {}
    for path in paths:
        kind, text = _recognise(path)
        if kind in (_RUN, _SELECTOR, _SPACE):
            forms = ", ".join(kind.targets)
            raise UsageError(
                f"{path}: is {kind.name}; mltune convert writes it in other forms (--to {forms})"
            )
        target = next(iter(kind.targets))
        place = _imported_to(path, target, out)
        if (other := sources.setdefault(place, path)) != path:
            raise UsageError(f"{path}: {place} is made from {other}; import it with another -o")
        done.append(_convert(path, kind, text, target, place, NO_LICENCE))
    return tuple(done)


def _imported_to(path: Path, target: str, out: Path | None) -> Path:
    """Return the file or folder that an import makes."""
    folder = out or (Path("runs") if target == "run" else IMPORTED)
    return folder / f"{path.name.partition('.')[0]}{_SUFFIXES.get(target, '')}"


def convert(path: Path, target: str, out: Path, licence: str) -> Converted:
    """Convert a file, a run or a folder of kernels to another form.

    Args:
        path: of the input.
        target: the name of the form; each kind of file has its own.
        out: the file or folder to write.
        licence: of a bundle.

    Raises:
        UsageError: when it cannot be read, has no such form, or the result exists already.
        MltuneError: when something cannot be written.
    """
    kind, text = _recognise(path)
    if target not in kind.targets:
        known = ", ".join(kind.targets)
        raise UsageError(f"{path}: is {kind.name}, which cannot become '{target}' (can: {known})")
    return _convert(path, kind, text, target, out, licence)


def _convert(
    path: Path, kind: _Kind, text: str, target: str, out: Path, licence: str
) -> Converted:
    if out.resolve() == path.resolve():
        raise UsageError(f"{out}: is what is to be converted; give another -o")
    job = _Job(source=path, text=text, out=out, licence=licence)
    files, notes, next_command = kind.targets[target](job)
    return Converted(path, kind.name, target, tuple(files), tuple(notes), next_command)


def _recognise(path: Path) -> tuple[_Kind, str]:
    """Recognise a file's kind by its contents."""
    if path.is_dir():
        if (path / INFO_NAME).exists():
            return _RUN, ""
        if (path / SELECTOR_NAME).exists():
            return _SELECTOR, ""
        if any(path.glob("*.json")):
            return _KERNELS, ""
        raise _unknown(path)
    text, _ = read_text(path)
    start = text.lstrip()[:1]
    if start == "{":
        known = (
            (f'"{BUNDLE_FORMAT}"', _BUNDLE),
            (f'"{SELECTOR_FORMAT}"', _SELECTOR),
            ('"transA"', _KERNELS),
        )
        for word, kind in known:
            if word in text[:4096]:
                return kind, text
        return (_T1 if f'"{T1_SECTION}"' in text else _RECORDING), text
    if AUTOGEMM in text and not text.lstrip().startswith("-"):
        return _AUTOGEMM, text
    try:
        document = parse_document(text, str(path))
        if isinstance(document.content, tuple):
            return _LOGIC, text
        names = document.mapping("the file")
    except UsageError as error:
        if {".yaml", ".yml"}.intersection(path.suffixes):
            raise
        raise _unknown(path) from error
    if "BenchmarkProblems" in names:
        return _PROTOCOL, text
    if "parameters" in names:
        return _SPACE, text
    raise _unknown(path)


def _unknown(path: Path) -> UsageError:
    return UsageError(
        f"{path}: unknown kind of file; mltune import --help names those that are known"
    )


def _written(path: Path, text: str) -> list[Path]:
    make_folder(path.parent)
    write_atomically(path, text.encode())
    return [path]


def _bundle_to_run(job: _Job) -> Result:
    try:
        info, measurements, licence = read_bundle(parse_json(job.text))
    except UsageError as error:
        raise UsageError(f"{job.source}: {error}") from error
    files = unpack(info, measurements, job.out)
    note = f"licence: {licence}; measured on {info.device.model}, {info.created[:10]}"
    first = measurements[0].id if measurements else 1
    report = command("mltune", "report", job.out)
    return files, [note], f"{report}    or: {command('mltune', 'replay', job.out, str(first))}"


def _run_to_bundle(job: _Job) -> Result:
    make_folder(job.out.parent)
    with Run.open(job.source) as run:
        write_bundle(run, job.licence, job.out)
        info = run.info
    notes = [] if job.licence != NO_LICENCE else ["no licence: say one with --licence"]
    if own := [prior for prior in info.priors if not prior.startswith(SHIPPED)]:
        notes.append(f"the records of --prior are not in it: {', '.join(own)}")
    # Here, the bundle of a run in runs/ often has that run's name.
    elsewhere = ("-o", IMPORTED) if _imported_to(job.out, "run", None).exists() else ()
    return [job.out], notes, command("mltune", "import", job.out, *elsewhere)


def _recording_to(form: str) -> Callable[[_Job], Result]:
    def write(job: _Job) -> Result:
        recording = read_any(job.source)
        text, lost = WRITERS[form](recording)
        files = _written(job.out, text)
        left = [f"{job.source}: of a row, parameters, time and status are carried over, no more"]
        if job.source.is_dir():
            left = []
            with Run.open(job.source) as run:
                count = len(run.info.sizes)
            if count > 1:
                left = [f"{job.source}: times are geometric means over {count} sizes"]
        told = [*recording.notes, *left, *(f"{job.source}: {line}" for line in lost)]
        replay = command("mltune", "search", "--replay", job.out)
        return files, told, replay if form != "csv" else ""

    return write


def _run_to_kernels(job: _Job) -> Result:
    with Run.open(job.source) as run:
        kept = run.info.kernels
    if not kept:
        raise UsageError(f"{job.source}: has no hand-written kernels")
    return _kernel_files(read_kept(kept, str(job.source)), job.out)


def _run_to_logic(job: _Job) -> Result:
    with Run.open(job.source) as run:
        info, measurements = run.info, run.store.measurements()
    best = [choice.best for choice in choose(measurements).values()]
    known = [row for row in best if row.family == TILED]
    fastest = [(row.problem.size, row.config, gflops) for row in known if (gflops := row.gflops)]
    if not fastest:
        raise UsageError(f"{job.source}: no kernel of the family '{TILED}' was the fastest")
    rule = rule_of_run(info, measurements)
    files = _written(job.out, logic_text(info.contraction, fastest, info.device.name, rule))
    notes = [f"{job.source}: alpha = {info.alpha}, beta = {info.beta} are not in it"]
    if len(known) < len(best):
        lost = len(best) - len(known)
        notes.append(f"{job.source}: {lost} sizes are not in it, whose kernels are no '{TILED}'")
    convert = command("mltune", "convert", job.out, "--to", "space", "-o", "space.yaml")
    return files, notes, convert


def _logic_to_selector(job: _Job) -> Result:
    selector, notes = selector_of_logic(job.text, str(job.source))
    return _selector_file(selector, job.out), notes, _export([job.out])


def _selector_to_logic(job: _Job) -> Result:
    path = job.source / SELECTOR_NAME if job.source.is_dir() else job.source
    text, notes = logic_of_selector(read_selector(path), str(job.source))
    return _written(job.out, text), notes, ""


def _autogemm_to_selectors(job: _Job) -> Result:
    data, notes = read_selection_data(job.text, str(job.source))
    made = selectors_of_autogemm(data, job.source.name)
    files = [
        file
        for selector in made
        for file in _selector_file(
            selector, job.out / f"{problem_type_name(selector.contraction)}.json"
        )
    ]
    notes.append(
        f"{job.source}: kernels take any number of terms, so of several unrolls the first is used"
    )
    return files, notes, _export(files)


def _autogemm_to_space(job: _Job) -> Result:
    data, notes = read_selection_data(job.text, str(job.source))
    configs = list(dict.fromkeys(config for each in data for config in each.configs()))
    text = space_of_configs(job.out.stem, configs)
    notes.append(f"{job.source}: the space has all combinations of the values")
    return _written(job.out, text), notes, command("mltune", "search", "--space", job.out)


def _selector_file(selector: Selector, out: Path) -> list[Path]:
    refuse_run(out)
    path = out if out.suffix == ".json" else out / SELECTOR_NAME
    write_selector(selector, path)
    return [path]


def _export(selectors: Sequence[Path]) -> str:
    return command("mltune", "export", *selectors, "--lang", "c", "-o", "tuned")


def _kernels_to_kernels(job: _Job) -> Result:
    return _kernel_files(read_files([job.source]), job.out)


def _kernel_files(descriptions: Sequence[Description], out: Path) -> Result:
    files = [file for name, text in to_files(descriptions) for file in _written(out / name, text)]
    return files, [], command("mltune", "search", "--kernels", out)


def _protocol_to_sizes(job: _Job) -> Result:
    protocol = parse_protocol(job.text, str(job.source))
    files: list[Path] = []
    for problems in protocol.problems:
        sizes = [
            size for group in problems.groups for size in (*group.step_sizes, *group.final_sizes)
        ]
        several = len(protocol.problems) > 1
        name = problem_type_name(problems.contraction)
        out = job.out.with_name(f"{job.out.stem}-{name}{job.out.suffix}") if several else job.out
        files += _written(out, _sizes_text(job, problems.contraction, merge_sizes(sizes)))
    note = f"{job.source}: of its kernels nothing is carried over; mltune protocol measures them"
    problem = problem_type_name(protocol.problems[0].contraction)
    search = command("mltune", "search", "--problem", problem, "--sizes", files[0])
    return files, [*protocol.notes, note], search


def _logic_to_sizes(job: _Job) -> Result:
    logic = parse_logic(job.text, str(job.source))
    if not logic.sizes:
        raise UsageError(f"{job.source}: has no exact sizes")
    files = _written(job.out, _sizes_text(job, logic.contraction, logic.sizes))
    note = f"{job.source}: which solution was the fastest is not carried over"
    problem = problem_type_name(logic.contraction)
    return files, [note], (command("mltune", "search", "--problem", problem, "--sizes", job.out))


def _logic_to_space(job: _Job) -> Result:
    logic = parse_logic(job.text, str(job.source))
    if not logic.configs:
        raise UsageError(f"{job.source}: has no solution with a counterpart")
    text = space_of_configs(job.out.stem, _level(logic.configs))
    notes = [*logic.notes, f"{job.source}: the space has all combinations of the values"]
    return _written(job.out, text), notes, command("mltune", "search", "--space", job.out)


def _level(configs: Sequence[Config]) -> list[Config]:
    """Give all configs the same parameters, with the family's own defaults."""
    names = {name for config in configs for name in config}
    defaults = PARAMETERS.defaults
    filled = {name: value for name, value in defaults.items() if name in names}
    levelled = [{**filled, **config} for config in configs]
    for config in levelled:
        if config.get("local_pad_b") == defaults["local_pad_b"]:  # it follows the other operand's
            config["local_pad_b"] = config["local_pad"]
    return [Config.of(config) for config in levelled]


def _t1_to_space(job: _Job) -> Result:
    text, notes = from_t1(job.text, str(job.source))
    parse_space(text, str(job.out))
    return _written(job.out, text), notes, ""


def _space_to_t1(job: _Job) -> Result:
    text, notes = to_t1(parse_space(job.text, str(job.source)))
    return _written(job.out, text), [f"{job.source}: {note}" for note in notes], ""


def _sizes_text(job: _Job, contraction: Contraction, sizes: Sequence[Size]) -> str:
    if not contraction.is_gemm:
        name = problem_type_name(contraction)
        raise UsageError(f"{job.source}: {name} is no GEMM, and files of sizes have m, n, k only")
    text = io.StringIO(newline="")
    text.write(f"# {problem_type_name(contraction)}, from {job.source.name}\n")
    batched = any(len(size.extents) > 3 for size in sizes)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["m", "n", "k", *(["batch"] if batched else []), "count"])
    for size in sizes:
        extents = size.extents + ((1,) if batched and len(size.extents) == 3 else ())
        writer.writerow([*extents, size.count])
    return text.getvalue()


_RECORDING_TARGETS = {form: _recording_to(form) for form in ("t4", "kernel-tuner", "csv")}
_RUN = _Kind(
    "a run",
    {
        "bundle": _run_to_bundle,
        **_RECORDING_TARGETS,
        "logic": _run_to_logic,
        "gemmbench": _run_to_kernels,
    },
)
_BUNDLE = _Kind("a bundle of mltune", {"run": _bundle_to_run})
_RECORDING = _Kind("a tuner's record", _RECORDING_TARGETS)
_KERNELS = _Kind("hand-written kernels", {"gemmbench": _kernels_to_kernels})
_PROTOCOL = _Kind("Tensile's benchmark file", {"sizes": _protocol_to_sizes})
_LOGIC = _Kind(
    "Tensile's library logic",
    {"sizes": _logic_to_sizes, "space": _logic_to_space, "selector": _logic_to_selector},
)
_SELECTOR = _Kind("a selector of mltune", {"logic": _selector_to_logic})
_AUTOGEMM = _Kind(
    "AutoGEMM's selection data",
    {"selectors": _autogemm_to_selectors, "space": _autogemm_to_space},
)
_T1 = _Kind("a space in T1", {"space": _t1_to_space})
_SPACE = _Kind("a space of mltune", {"t1": _space_to_t1})
_SUFFIXES = {"t4": ".t4.json", "sizes": ".csv", "space": ".yaml", "t1": ".t1.json",
             "bundle": ".json.gz", "logic": ".yaml"}  # fmt: skip
