"""Feeds hostile inputs to everything that reads what somebody else may have written.

    python tests/benchmarks/fuzz.py --inputs 100000

Good examples of every format are damaged: bits, pieces left out or doubled, words that have broken
readers before, values of JSON replaced by others; some inputs are plain noise. A reader must
return something, or raise a `MltuneError` of one line, within `--seconds`. Meanwhile nothing may
be started, unpickled, removed or written: Python's audit hooks watch for it. What breaks a rule is
kept in a folder, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import hashlib
import io
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.compat.foreign import read_recording
from mltune.compat.foreign.text import read_text
from mltune.compat.tensile import parse_protocol
from mltune.compat.tensile.logic import parse_logic
from mltune.cost_model import fit, load, save
from mltune.cost_model.io import FOREST, MANIFEST, _forest
from mltune.errors import MltuneError, UsageError
from mltune.kernel.build_options import check_build_options
from mltune.kernel.handwritten.read import read_files
from mltune.kernel.name import parse_kernel_name
from mltune.kernel.space_file import load_space
from mltune.problem import Contraction, parse_problem_type
from mltune.problem.size_file import read_size_file
from mltune.problem.sizes import parse_sizes
from mltune.resources import data_folder
from mltune.run.bundle import read_bundle, write_bundle
from mltune.run.carve import carve
from mltune.run.csv import read_measurements
from mltune.run.csv_table import read_table, write_table
from mltune.run.database import file_url, read_url
from mltune.run.row import from_row, to_row
from mltune.run.run import INFO_NAME, TABLE_NAME, Run, read_info, write_info
from mltune.run.store import Store
from mltune.selector.json import read_selector
from mltune.space.parser import parse

_ROOT = Path(__file__).parents[2]
_RECORDED = _ROOT / "runs" / "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"
_LONGEST_MESSAGE = 2000

_WORDS = [
    b"!!python/object/apply:os.system ['true']", b"!!python/name:os.system", b"*a", b"&a [*a]",
    b"__import__('os').system('true')", b"eval", b"<<: {}", b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x1f\x8b\x08", b"%s%n", b"{", b"[" * 3000, b"(" * 3000,
    b"-" * 3000, b"{\"a\":" * 3000, b"1" * 5000, b"9" * 400, b"-1", b"0", b"1e999", b"-0.0",
    b"NaN", b"Infinity", b"null", b"true", b"0x10", b"1_000", b"\r\n", b"\n\n", b"\t", b"---\n",
    b"../../../../etc/passwd", b"/dev/zero", b"''", b'"', b"\\", b"\xd9\xa3", b"2**2**30",
    b"18446744073709551616", b"9223372036854775807", b"x" * 100_000, b":", b",", b"#",
]  # fmt: skip
_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**40, 10**400, 0.5, -0.0,
    1e308, 1e-320, float("nan"), float("inf"), "", "x", "\0", "\ud800", "-I/etc", "a" * 10_000,
    [], [[]], [None], [0] * 50, {}, {"": {}}, {"a": 1}, "1", [1, 2], "ok", "nan",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """One reader, with good examples of its input.

    Attributes:
        file: where an input is written.
        read: reads that file.
        weight: its share of the inputs; slow readers get fewer.
        pack: applied to the damaged example before it is written.
    """

    name: str
    file: Path
    examples: Sequence[bytes]
    read: Callable[[Path], object]
    weight: int = 10
    pack: Callable[[bytes], bytes] = bytes


class HangError(BaseException):
    """A reader took too long. It is no `Exception`, so that no reader catches it."""


class Watch:
    """Records what readers must not do. An audit hook cannot be removed, so it has a switch."""

    _FORBIDDEN = (
        "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen",
        "pickle.find_class", "socket.connect", "socket.getaddrinfo", "shutil.rmtree", "os.remove",
        "os.rename", "os.mkdir", "os.chmod", "webbrowser.open", "code.__new__",
    )  # fmt: skip

    def __init__(self) -> None:
        self.is_on = False
        self.seen = ""
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event in self._FORBIDDEN:
            self.seen = f"{event} {arguments!r:.200}"
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & 0x3:
            self.seen = f"opened for writing: {arguments[0]!r:.200}"


def main() -> int:
    """Run all inputs, print a table, and say whether all rules held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10, help="of computing, for one input")
    parser.add_argument("--only", help="part of a reader's name")
    options = parser.parse_args()
    chooser = random.Random(options.seed)
    watch = Watch()
    kept = Path(tempfile.mkdtemp(prefix="mltune-fuzz-"))
    failures = 0
    began = time.monotonic()
    print("| reader | inputs | one clear line | read | slowest, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        targets = make_targets(Path(folder))
        if options.only:
            targets = [target for target in targets if options.only in target.name]
        total = sum(target.weight for target in targets)
        signal.signal(signal.SIGPROF, _hang)
        warnings.simplefilter("error")
        for target in targets:
            count = math.ceil(options.inputs * target.weight / total)
            outcomes: Counter[str] = Counter()
            slowest = 0.0
            for example in target.examples:
                target.file.write_bytes(target.pack(example))
                target.read(target.file)  # the examples themselves are right
            for number in range(count):
                data = target.pack(damaged(chooser.choice(target.examples), chooser))
                target.file.write_bytes(data)
                started = time.process_time()  # a busy machine is no fault of the reader's
                signal.setitimer(signal.ITIMER_PROF, options.seconds)
                outcome = _try(target, watch)
                signal.setitimer(signal.ITIMER_PROF, 0)
                slowest = max(slowest, time.process_time() - started)
                outcomes[outcome.partition("\n")[0]] += 1
                if outcome not in ("refused", "read"):
                    failures += 1
                    place = kept / f"{target.name.replace(' ', '-').replace('/', '-')}-{number}"
                    place.write_bytes(data)
                    print(f"FAILED: {target.name}, {place}: {outcome}", file=sys.stderr)
            print(
                f"| {target.name} | {count:,} | {outcomes['refused']:,} | {outcomes['read']:,} | "
                f"{slowest * 1e3:.0f} |",
                flush=True,
            )
    print(f"\nseed {options.seed}, {time.monotonic() - began:.0f} s, {failures} broke a rule")
    return 1 if failures else 0


def _hang(_signal: int, _frame: object) -> None:
    raise HangError


def _try(target: Target, watch: Watch) -> str:
    """Return `read`, `refused`, or the rule that was broken."""
    watch.seen, watch.is_on = "", True
    try:
        target.read(target.file)
        outcome = "read"
    except MltuneError as error:
        text = str(error)
        is_clear = text and text.isprintable() and len(text) < _LONGEST_MESSAGE
        outcome = "refused" if is_clear else f"no clear line: {text!r:.300}"
    except HangError:
        outcome = "hangs"
    except Exception:  # noqa: BLE001  # any other error is what is looked for
        outcome = "raises\n" + traceback.format_exc(limit=-4)
    finally:
        watch.is_on = False
    return f"does what it must not: {watch.seen}" if watch.seen else outcome


def damaged(data: bytes, chooser: random.Random) -> bytes:
    """Damage an example in one to four ways, or return random bytes."""
    if chooser.random() < 0.02:
        return chooser.randbytes(chooser.choice((0, 1, 7, 200)))
    for _ in range(chooser.choice((1, 1, 1, 2, 4))):
        data = chooser.choice(_WAYS)(data, chooser)
    return data


def _bits(data: bytes, chooser: random.Random) -> bytes:
    spoilt = bytearray(data)
    for _ in range(chooser.choice((1, 1, 8))):
        if spoilt:
            spoilt[chooser.randrange(len(spoilt))] ^= 1 << chooser.randrange(8)
    return bytes(spoilt)


def _cut(data: bytes, chooser: random.Random) -> bytes:
    return data[: chooser.randrange(len(data) + 1)]


def _piece(data: bytes, chooser: random.Random) -> tuple[int, int]:
    begin = chooser.randrange(len(data) + 1)
    return begin, min(len(data), begin + chooser.choice((1, 4, 30, 300)))


def _leave_out(data: bytes, chooser: random.Random) -> bytes:
    begin, end = _piece(data, chooser)
    return data[:begin] + data[end:]


def _double(data: bytes, chooser: random.Random) -> bytes:
    begin, end = _piece(data, chooser)
    at = chooser.randrange(len(data) + 1)
    return data[:at] + data[begin:end] + data[at:]


def _insert(data: bytes, chooser: random.Random) -> bytes:
    begin, end = _piece(data, chooser)
    return data[:begin] + chooser.choice(_WORDS) + data[chooser.choice((begin, end)) :]


def _lines(data: bytes, chooser: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    chooser.shuffle(lines)
    return b"".join(lines)


def _json(data: bytes, chooser: random.Random) -> bytes:
    """Replace, remove or repeat a value somewhere in a JSON document."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return _insert(data, chooser)
    places = list(_places(value))
    if not places:
        return json.dumps(chooser.choice(_VALUES)).encode()
    parent, key = chooser.choice(places)
    match chooser.randrange(4):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[str(chooser.choice(_VALUES))] = parent[key]
        case 2:
            other, its = chooser.choice(places)
            with contextlib.suppress(LookupError):
                parent[key] = json.loads(json.dumps(other[its]))
        case _:
            parent[key] = chooser.choice(_VALUES)
    return json.dumps(value).encode("utf-8", "replace")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from _places(inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value, index
            yield from _places(inner)


_WAYS = (_bits, _cut, _leave_out, _double, _insert, _lines, _json, _json, _json)


def make_targets(folder: Path) -> list[Target]:
    """Return every reader with examples; some of these are made in the folder first."""
    rows = read_measurements(_RECORDED)[:40]
    write_table(rows, folder / "table.csv.gz")
    table = (folder / "table.csv.gz").read_bytes()
    with Store(file_url(folder / "store.db")) as store:
        for row in rows:
            store.add(row)
    database = (folder / "store.db").read_bytes()
    save(fit(rows, read_info(_RECORDED).device, folds=2), folder / "model")
    manifest, forest = ((folder / "model" / name).read_bytes() for name in (MANIFEST, FOREST))
    with zipfile.ZipFile(io.BytesIO(forest)) as packed:
        archive = {name: packed.read(name) for name in packed.namelist()}
    # Without a checksum the values themselves are looked at.
    cells = json.dumps({"id": 7, **to_row(rows[0]), "checksum": ""}).encode()
    (folder / "small").mkdir()
    write_table(rows, folder / "small" / TABLE_NAME)
    write_info(read_info(_RECORDED), folder / "small" / INFO_NAME)
    with Run.open(folder / "small") as run:
        write_bundle(run, "CC0", folder / "bundle.json.gz")
    bundle = (folder / "bundle.json.gz").read_bytes()
    kernels = data_folder("spaces") / "handwritten"
    shutil.copytree(kernels, folder / "kernels")
    description = (kernels / "sgemm_nt_1x1.json").read_bytes()
    spaces = [path.read_bytes() for path in sorted(data_folder("spaces").glob("*.yaml"))]
    selector = (_ROOT / "tests" / "golden" / "selector" / "small.json").read_bytes()

    def file(name: str) -> Path:
        (folder / name).parent.mkdir(exist_ok=True)
        return folder / name

    def of_folder(read: Callable[[Path], object]) -> Callable[[Path], object]:
        return lambda path: read(path.parent)

    typed = file("typed")
    return [
        Target("run.json", file("run/run.json"), [(_RECORDED / "run.json").read_bytes()],
               of_folder(read_info)),
        Target("run.db", file("run.db"), [database], _read_store, weight=2),
        Target("run.db, by salvage", file("run.db"), [database], carve, weight=2),
        Target("measurements.csv.gz", file("table.csv.gz"), [table], read_table, weight=2),
        Target("measurements.csv.gz, its text", file("table.csv.gz"), [gzip.decompress(table)],
               read_table, weight=2, pack=gzip.compress),
        Target("cells of a measurement", file("cells.json"), [cells], _read_cells),
        Target("space that ships", file("space.yaml"), spaces, load_space, weight=2),
        Target("small space", file("space.yaml"), [_SMALL_SPACE], load_space),
        Target("expression", typed,
               [b"ceil_div(a * 4, b) <= min(64, c) and not (d == 1 or -e < 2)"], _as_text(parse)),
        Target("sizes", typed, [b"64x64x64", b"1:64:8x64:512:*2x128x3", b"gpu,tiny,7x8x9"],
               _as_text(parse_sizes)),
        Target("sizes in CSV", file("sizes.csv"), [b"m,n,k,batch,count\n1,2,3,4,5\n6,7,8,1,1\n",
               b"# c\nm,n,k\n10,20,30\n"], read_size_file),
        Target("sizes in YAML", file("sizes.yaml"),
               [b"- 1x2x3\n- [4, 5, 6]\n- {m: 1, n: 2, k: 3, count: 4}\n"], read_size_file),
        Target("problem", typed, [b"sgemm_nn", b"zgemm_cn_row_batched", b"s:bmk,kcn->bmcn",
               b"Cijk_Ailk_Bjlk_SB"], _as_text(parse_problem_type)),
        Target("name of a contraction", typed, [b"Cijk_AlikC_Bjlk_ZB"],
               _as_text(Contraction.from_name)),
        Target("name of a kernel", typed,
               [b"Cij_Aik_Bjk_SB_MT64x48x32_LP0_LU8_MAfma_PGR1_TT4x6_VAcast_VW4_WG16x8x1_WGM4"],
               _as_text(parse_kernel_name)),
        Target("build options", typed, [b"-cl-std=CL1.2", b"-cl-nv-maxrregcount=64", b"-DX=1"],
               _as_text(lambda text: check_build_options((text,)))),
        Target("storage URL", typed, [b"sqlite:///a/b.db", b"postgresql+psycopg://u:p@h:5432/d"],
               _as_text(read_url)),
        Target("Kernel Tuner's cache", file("cache.json"), [_CACHE], read_recording),
        Target("T4 results", file("t4.json"), [_T4], read_recording),
        Target("CLBlast's results", file("clblast.json"), [_CLBLAST], read_recording),
        Target("bundle of a run", file("bundle.json"), [gzip.decompress(bundle)], _read_bundle,
               weight=3),
        Target("Tensile's protocol", file("protocol.yaml"),
               [(data_folder("spaces") / "protocols" / "seven-steps.yaml").read_bytes()],
               _as_yaml(parse_protocol), weight=5),
        Target("Tensile's logic", file("logic.yaml"), [_LOGIC], _as_yaml(parse_logic), weight=5),
        Target("hand-written kernel", file("kernels/sgemm_nt_1x1.json"), [description],
               lambda path: read_files([path])),
        Target("selector", file("selector.json"), [selector], read_selector),
        Target("cost model", file("model/model.json"), [manifest], of_folder(load)),
        Target("trees of a cost model", file("forest.npz"), [forest], _read_forest, weight=2),
        *(
            Target(f"trees, array '{name}'", file("forest.npz"), [archive[name]], _read_forest,
                   weight=2, pack=functools.partial(_zipped, archive, name))
            for name in archive
        ),
    ]  # fmt: skip


_SMALL_SPACE = b"""name: small
family: of nobody
about: an example
parameters:
  work_group_0: {values: [8, 16], meaning: rows of work-items}
  work_group_1: {values: [8, 16]}
  thread_tile_0: {values: [1, 2, 4]}
  kind: {values: [a, b]}
derived:
  items: work_group_0 * work_group_1
constraints:
  few: items <= max_work_group_size
  even: items % 2 == 0 or kind == 'a'
"""
_CACHE = (
    b'{"device_name": "SharedTrials", "kernel_name": "Xgemm", "tune_params_keys": ["x", "way"],\n'
    b'"cache": {\n'
    b'"1,a": {"x": 1, "way": "a", "time": 2.0, "times": [2.0, 2.1]},\n'
    b'"2,b": {"x": 2, "way": "b", "time": "CompilationFailedConfig"},\n'
    b'"4,b": {"x": 4, "way": "b", "__error__": "RuntimeFailedConfig"}\n}}'
)
_CLBLAST = json.dumps(
    {
        "kernel_family": "xgemm_1",
        "precision": "32",
        "arg_m": "1024",
        "device_name": "SharedTrials",
        "results": [
            {"kernel": "Xgemm", "time": 2.5, "parameters": {"KWG": 32, "MWG": 64}},
            {"kernel": "Xgemm", "time": -1.0, "parameters": {"KWG": 16, "MWG": 64}},
        ],
    }
).encode()
_LOGIC = b"""- {MinimumRequiredVersion: 4.2.0}
- vega10
- gfx900
- [Device 6860]
- {OperationType: GEMM, DataType: 0, TransposeA: false, TransposeB: true, UseBeta: true}
- - {SolutionIndex: 0, WorkGroup: [16, 16, 1], ThreadTile: [4, 8], DepthU: 8, VectorWidth: 4}
  - {SolutionIndex: 1, WorkGroup: [16, 8, 2], ThreadTile: [4, 4], DepthU: 16, GlobalSplitU: 4}
- [2, 3, 0, 1]
- - - [64, 128, 1, 256]
    - [0, 4321.5]
- null
"""
_T4 = json.dumps(
    {
        "metadata": {"timeunit": "microseconds"},
        "results": [
            {
                "configuration": {"x": x, "way": "a"},
                "invalidity": invalidity,
                "measurements": [{"name": "time", "value": value, "unit": ""}],
                "times": {"compilation": 1.0, "runtimes": [value]},
            }
            for x, invalidity, value in ((1, "correct", 3.0), (2, "compile", None))
        ],
    }
).encode()


def _as_text(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Make a reader of a text that a user types, or that is part of a file."""
    return lambda path: read(path.read_bytes().decode("utf-8", "surrogateescape"))


def _zipped(archive: dict[str, bytes], name: str, data: bytes) -> bytes:
    """Return an archive with one member replaced, and right checksums."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for member, whole in archive.items():
            file.writestr(member, data if member == name else whole)
    return packed.getvalue()


def _as_yaml(parse: Callable[[str, str], object]) -> Callable[[Path], object]:
    """Make a reader that also takes the file's name, for messages."""
    return lambda path: parse(read_text(path)[0], path.name)


def _read_bundle(path: Path) -> object:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise UsageError("no JSON") from None
    return read_bundle(data)


def _read_store(path: Path) -> object:
    with Store(file_url(path), read_only=True) as store:
        return store.measurements()


def _read_cells(path: Path) -> object:
    """Read a database row from JSON: a cell can have any type."""
    try:
        cells = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise UsageError("no row") from None
    return from_row(cells)


def _read_forest(path: Path) -> object:
    """Read the trees with a manifest that fits them, as an attacker would write it."""
    return _forest(path, hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    sys.exit(main())
