"""No text in a selector or a bundle adds a token to the exported code.

`MLTUNE_HOSTILE_EXAMPLES=20000 pytest tests/export/test_hostile_text.py` tries more texts than the
default.
"""

from __future__ import annotations

import ast
import copy
import io
import json
import os
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mltune.compat import autogemm
from mltune.compat.foreign.text import read_text
from mltune.errors import UsageError
from mltune.export import WRITERS
from mltune.export.c import c_writer
from mltune.export.python import python_writer
from mltune.export.rust import rust_writer
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.measurement import Measurement, Status
from mltune.problem import Size, parse_problem_type
from mltune.run.bundle import read_bundle, write_bundle
from mltune.run.run import Run
from mltune.run.run_info import RunInfo, Timing
from mltune.selector import Leaf, PortfolioKernel, Regret, Selector, Split
from mltune.selector.json import read_selector, selector_data
from mltune.space.config import Config
from mltune.workflow.export import kernels_of
from mltune.workflow.recorded import Recorded
from tests.devices import CPU
from tests.export.conftest import SMALL
from tests.selectors import entry_of

EXAMPLES = int(os.environ.get("MLTUNE_HOSTILE_EXAMPLES", "60"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES == 60,
    suppress_health_check=list(HealthCheck),
    database=None,
)
FRAGMENTS = (
    '"', '""', '"""', '"""""', "'", "'''", "\\", "\\\\", "\\\n", "*", "/", "*/", "/*", "*\\",
    "\\/", "*??/\n/", "??/", "??'", "//", "#", "%:", "<%", "%>", "#include </etc/passwd>\n",
    "\n", "\r", "\r\n", "\t", "\v", "\f", "\0", "\x1a", "\x85", "\u2028", "\u2029", "\u202e",
    "\ud800", "\N{FULLWIDTH ASTERISK}", "\N{FULLWIDTH SOLIDUS}", "\N{GREEK QUESTION MARK}", "{",
    "}", "@", "@library@", "@statement@", "{x}", "%s", "$(shell touch PWNED)", "`id`", "<script>",
    "-->", ";", "x", "A", "1", " ", "  ", "a b", 'open("PWNED","w")', 'system("id");', "abort();",
    "\\x2a/", "\\u002a/", "\\N{ASTERISK}/", "\x1b]0;x\x07", "_Pragma", 'L"', 'R"(', "u8", "0x",
)  # fmt: skip
HOSTILE = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=40).map("".join),
    st.text(max_size=200),
    st.text("\"\\*/?\n'# ", min_size=1, max_size=200),
)
Texts = dict[str, str]
SIGNATURE = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_0-9.]+|\n|[^\s]', re.S
)

RUST = re.compile(
    r'//[^\n]*|/\*|\*/|r#*"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\\n])\'|[A-Za-z_0-9.]+|\S', re.S
)


def c_tokens(text: str) -> list[str]:
    """The tokens of C99 without comments; line ends count, because they end directives."""
    for letter, meant in zip("=/'()!<>-", "#\\^[]|{}~", strict=True):
        text = text.replace(f"??{letter}", meant)
    found = SIGNATURE.findall(text.replace("\\\n", ""))
    return [token for token in found if not token.startswith(("/*", "//"))]


def rust_tokens(text: str) -> list[str]:
    """The tokens of Rust without comments; block comments may be nested."""
    found, level = [], 0
    for token in RUST.findall(text):
        level += {"/*": 1, "*/": -1}.get(token, 0)
        if not level and not token.startswith("//") and token != "*/":
            found.append(token)
    return found


def python_tokens(text: str) -> tuple[str, list[str]]:
    """The syntax tree without docstrings, and the tokens without the contents of strings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    shown = ["" if token.type == tokenize.STRING else token.string for token in tokens]
    return ast.dump(tree), shown


def tokens(name: str, text: str) -> object:
    """The tokens of a file for its compiler; the markup of a README."""
    if name.endswith((".c", ".h", ".cl")):
        return c_tokens(text)
    if name.endswith(".rs"):
        return rust_tokens(text)
    if name.endswith(".py"):
        return python_tokens(text)
    if name.endswith(".md"):
        return sorted(set(re.findall(r"[^\n -~]|[<>\[\]{}\\]|!\[", text)))
    if name.endswith(".json"):
        document = json.loads(text)
        return text.isascii(), sorted(document), len(document["statement"])
    return text


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Callable[[Selector, Sequence[Kernel]], Texts]:
    """Write all exports into memory."""
    kept: Texts = {}

    def keep(out: Path, texts: Mapping[str, str]) -> list[Path]:
        kept.update({f"{out}/{name}": text for name, text in texts.items()})
        for text in texts.values():
            text.encode()
        return []

    from mltune.export import json_writer

    for module in (c_writer, autogemm, python_writer, rust_writer, json_writer):
        monkeypatch.setattr(module, "write_files", keep)

    def write(selector: Selector, kernels: Sequence[Kernel]) -> Texts:
        kept.clear()
        for name, writer in {**WRITERS, "full": autogemm.FullCWriter(("all",))}.items():
            writer.write(selector, kernels, Path(name))
        return dict(kept)

    return write


class Watch:
    """Compares exports with a clean one; reads only files that differ."""

    def __init__(self, clean: Texts) -> None:
        self._clean = clean
        self._tokens = {name: tokens(name, text) for name, text in clean.items()}

    def holds(self, texts: Texts) -> None:
        """Fail at the first foreign token."""
        assert texts.keys() == self._clean.keys()
        for name, text in texts.items():
            if text != self._clean[name]:
                assert tokens(name, text) == self._tokens[name], name


@pytest.fixture(scope="module")
def selector() -> Selector:
    contraction = parse_problem_type("sgemm_nn")
    kernels = [
        FAMILIES["tiled"].generate(contraction, Config.of({**SMALL, "thread_tile_0": rows}))
        for rows in (2, 4)
    ]
    return Selector(
        contraction=contraction,
        portfolio=tuple(map(entry_of, kernels)),
        tree=Split("mnk", 50_000, Leaf(0), Leaf(1)),
        exact=(((7, 5, 3, 1), 1),),
        regret=Regret(sizes=9, geomean=0.97, p10=0.91, worst=0.8, worst_size="70x5x300"),
        conditions=(("device", "PoCL"), ("date", "2026-11-21")),
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Every text and every name of a document; the flag says whether it is a name."""
    if isinstance(value, str):
        yield path, False
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), True
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def spoilt(document: Any, path: tuple[Any, ...], is_name: bool, text: str) -> Any:
    """A copy with one text, or one name, replaced."""
    document = copy.deepcopy(document)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    if is_name:
        inner[text] = inner.pop(path[-1])
    else:
        inner[path[-1]] = text
    return document


def test_the_tokenizer_of_this_test_sees_what_a_compiler_sees() -> None:
    assert c_tokens("a /* b */ c") == ["a", "c"]
    assert c_tokens("/* *??/\n/ evil() /* */") == ["evil", "(", ")"]
    assert c_tokens("/* *\\\n/ evil() /* */") == ["evil", "(", ")"]
    assert c_tokens('"a\\" /* b" c') == ['"a\\" /* b"', "c"]
    assert rust_tokens("a /* b /* c */ d */ e // f\ng") == ["a", "e", "g"]
    assert rust_tokens('"a\\" // b" c') == ['"a\\" // b"', "c"]
    clean = python_tokens('"""plain"""\nx = 1\n')
    assert python_tokens('"""a""";import os;"""b"""\nx = 1\n') != clean
    assert python_tokens('"""other"""\nx = 1\n') == clean


@pytest.mark.parametrize(
    "text",
    ['""""";open("PWNED","w").write("x");"""""', "*\\", "*\\ abort(); /*", "*??/", "/*/", "*//*"],
)
def test_known_ways_out_are_closed(
    text: str, selector: Selector, written: Callable[..., Texts]
) -> None:
    kernels, _ = kernels_of(selector)
    assert selector.regret is not None
    hostile = replace(
        selector,
        conditions=((text, text), ("device", text)),
        regret=replace(selector.regret, worst_size=text),
    )

    Watch(written(selector, kernels)).holds(written(hostile, kernels))


@pytest.mark.long
def test_no_text_of_a_selector_becomes_a_token(
    selector: Selector, written: Callable[..., Texts]
) -> None:
    kernels, _ = kernels_of(selector)
    watch = Watch(written(selector, kernels))
    assert selector.regret is not None
    regret = selector.regret

    @SETTINGS
    @given(st.lists(HOSTILE, min_size=1, max_size=4, unique=True), HOSTILE, HOSTILE)
    def check(names: list[str], text: str, worst: str) -> None:
        watch.holds(
            written(
                replace(
                    selector,
                    conditions=tuple((name, text) for name in names),
                    regret=replace(regret, worst_size=worst),
                ),
                kernels,
            )
        )

    check()


def test_every_field_of_a_selector_s_file_is_refused_or_harmless(
    selector: Selector, written: Callable[..., Texts], tmp_path: Path
) -> None:
    kernels, _ = kernels_of(selector)
    watch = Watch(written(selector, kernels))
    document = json.loads(json.dumps(selector_data(selector)))
    file = tmp_path / "selector.json"
    taken = set()

    @SETTINGS
    @given(st.sampled_from(list(places(document))), HOSTILE)
    @example((("conditions", "device"), False), "*/")  # whatever this Hypothesis draws
    def check(place: tuple[tuple[Any, ...], bool], text: str) -> None:
        file.write_text(json.dumps(spoilt(document, *place, text)))
        try:
            read = read_selector(file)
            texts = written(read, kernels_of(read)[0])
        except UsageError:
            return
        taken.add(place)
        watch.holds(texts)

    check()
    assert (("conditions", "device"), False) in taken


def test_every_field_of_a_bundle_is_refused_or_harmless(
    selector: Selector, written: Callable[..., Texts], tmp_path: Path
) -> None:
    document = json.loads(_bundle(selector, tmp_path))
    kernels, _ = kernels_of(selector)
    watch = Watch(written(_distilled(document, selector), kernels))
    taken = set()

    @SETTINGS
    @given(st.sampled_from(list(places(document))), HOSTILE)
    @example((("run", "device", "name"), False), "*/")
    def check(place: tuple[tuple[Any, ...], bool], text: str) -> None:
        try:
            hostile = _distilled(spoilt(document, *place, text), selector)
            texts = written(hostile, kernels_of(hostile)[0])
        except UsageError:
            return
        taken.add(place)
        watch.holds(texts)

    check()
    assert any(path[:2] == ("run", "device") for path, _ in taken)


def _bundle(selector: Selector, folder: Path) -> str:
    """A bundle of one row for each kernel of a selector."""
    info = RunInfo(
        mltune_version="1", command=("mltune", "search"), contraction=selector.contraction,
        sizes=(Size((4, 5, 6)),), space="tiled", space_text="family: tiled\n", family="tiled",
        device=CPU, seed=1, budget=2, sampler="tpe", priors=("prior",), observers=("power",),
        timing=Timing(warmups=1, samples=1, build_timeout_seconds=9, run_timeout_seconds=9),
    )  # fmt: skip
    with Run.create(folder / "run", info) as run:
        for number, kernel in enumerate(kernels_of(selector)[0]):
            run.database.add(
                Measurement(
                    problem=info.problems[0], config=kernel.config, family=kernel.family,
                    kernel=kernel.name, source_hash=kernel.source_hash,
                    build_options=kernel.build_options, device=CPU.name,
                    driver=CPU.driver_version, uuid="", status=Status.OK, seconds=(1e-3,),
                    timestamp="2026-11-20T12:00:00+00:00", trial=number,
                )
            )  # fmt: skip
        write_bundle(run, "CC0", folder / "bundle.json.gz")
    text, _ = read_text(folder / "bundle.json.gz")
    document = json.loads(text)
    for row in document["rows"]:
        row[document["columns"].index("checksum")] = ""  # which a stranger can compute, too
    return json.dumps(document)


def _distilled(document: Any, selector: Selector) -> Selector:
    """What `distil` takes from a run, without the fit."""
    info, rows, _ = read_bundle(document)
    return replace(
        selector,
        contraction=info.contraction,
        conditions=Recorded((info,), tuple(rows)).conditions,
        portfolio=tuple(
            PortfolioKernel(
                name=row.kernel, family=row.family, config=row.config, source_hash=row.source_hash
            )
            for row in rows
        ),
    )
