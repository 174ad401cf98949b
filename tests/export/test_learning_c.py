"""Exported C learns in use; times are made up, and the file is Python's too."""

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyopencl as cl
import pytest

from mltune.export import SET_WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.kernel.families import FAMILIES
from mltune.runtime.learning import TRIES, Learner, candidates
from mltune.selector import Leaf, PortfolioKernel, Split, Tree
from mltune.space.config import Config
from tests.export.conftest import SMALL

SIZE = (33, 36, 40)
"""The chosen kernel is the first; for sizes nearby also the second."""


@pytest.fixture(scope="module")
def library(tiled: Callable[..., Library]) -> Library:
    return tiled("sgemm_nn")


@pytest.fixture(scope="module")
def five(tiled: Callable[..., Library]) -> Library:
    """Five kernels, of which each is chosen for some size near `SIZE`."""
    library = tiled("sgemm_nn")
    kernels = [
        FAMILIES["tiled"].generate(
            library.selector.contraction, Config.of({**SMALL, "depth_u": 4 * number})
        )
        for number in range(1, 6)
    ]
    tree: Tree = Leaf(4)
    for number, feature in enumerate("mnk"):
        tree = Split(feature, SIZE[number], tree, Leaf(number))
    selector = replace(
        library.selector,
        portfolio=tuple(
            PortfolioKernel(
                name=each.name, family="tiled", config=each.config, source_hash=each.source_hash
            )
            for each in kernels
        ),
        tree=Split("mnk", SIZE[0] * SIZE[1] * SIZE[2] // 3, Leaf(3), tree),
    )
    return Library.of(selector, kernels)


@pytest.fixture(scope="module")
def build(
    tiled: Callable[..., Library],
    compile_opencl: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Library], Path]:
    """Make the program that calls a library."""

    def make(library: Library) -> Path:
        folder = tmp_path_factory.mktemp("learn")
        libraries = LibrarySet("mltune", (tiled("sgemm_nt"), library))
        files = SET_WRITERS["c"].write(libraries, folder)
        sources = [file for file in files if file.suffix == ".c" and file.name != "example.c"]
        wrapped = [
            f"-Wl,--wrap={name}" for name in ("clEnqueueNDRangeKernel", "clGetEventProfilingInfo")
        ]
        source = Path(__file__).with_name("learn.c")
        options = ("-fsanitize=address", "-Wno-pedantic", f"-I{folder}")
        return compile_opencl(folder / "learn", source, *sources, *wrapped, *options)

    return make


@pytest.fixture(scope="module")
def program(build: Callable[[Library], Path], library: Library) -> Path:
    return build(library)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "learned.json"


@pytest.fixture
def call(
    program: Path, library: Library, path: Path, opencl_environment: dict[str, str]
) -> Callable[..., list[str]]:
    """Start a process that makes calls, and give the kernels that it launched, as letters."""
    return partial(called, program, library, path, opencl_environment)


def called(
    program: Path,
    library: Library,
    path: Path,
    environment: Mapping[str, str],
    calls: int,
    times: Mapping[str, int],
    size: tuple[int, ...] = SIZE,
) -> list[str]:
    letters = {
        each.entry: letter
        for letter, kernel in zip("ABCDE", library.kernels, strict=False)
        for each in kernel.passes
    }
    given = [
        text for entry, letter in letters.items() for text in (entry, str(times.get(letter, 1000)))
    ]
    done = subprocess.run(
        [program, path, str(calls), *map(str, size), *given],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return [letters.get(line, line) for line in done.stdout.splitlines()]


def rows(path: Path) -> Any:
    return json.loads(path.read_text())["learned"]


@pytest.mark.parametrize(("times", "best"), [({"B": 800}, "B"), ({"B": 990}, "A")])
def test_the_faster_kernel_is_kept_and_saved(
    times: Mapping[str, int],
    best: str,
    call: Callable[..., list[str]],
    path: Path,
    library: Library,
    queue: cl.CommandQueue,
) -> None:
    assert call(12, times) == [*"AB" * TRIES, *best * 6]
    assert call(2, {}) == [best] * 2  # another process knows it from the file

    number = "AB".index(best)
    assert rows(path) == [
        {
            "device": queue.device.name,
            "size": [*SIZE, 1],
            "kernel": library.kernels[number].name,
            "problem": "sgemm_nn",
        }
    ]
    assert Learner(library.selector, path).number(queue.device.name, (*SIZE, 1)) == number


def test_it_knows_what_python_learned(
    call: Callable[..., list[str]], path: Path, library: Library, queue: cl.CommandQueue
) -> None:
    learner, size = Learner(library.selector, path), (*SIZE, 1)
    done = cl.command_execution_status.COMPLETE
    for _ in range(2 * TRIES + 1):
        number = learner.number(queue.device.name, size)
        profile = SimpleNamespace(start=0, end=1000 - 500 * number)
        event = SimpleNamespace(command_execution_status=done, profile=profile)
        learner.watch(queue.device.name, size, number, [cast(cl.Event, event)])

    assert call(3, {}) == [*"BBB"]


def test_it_tries_what_python_tries(call: Callable[..., list[str]], library: Library) -> None:
    for size in ((30, 31, 33), (1, 1, 1), (40, 41, 42), (37, 37, 37), (7, 5, 3)):
        tried = ["AB"[number] for number in candidates(library.selector, (*size, 1))]
        assert call(2, {}, size) == (tried if len(tried) > 1 else tried * 2), size


def test_of_five_the_two_fastest_are_tried_again(
    build: Callable[[Library], Path],
    five: Library,
    path: Path,
    opencl_environment: dict[str, str],
) -> None:
    first, *others = ["ABCDE"[number] for number in candidates(five.selector, (*SIZE, 1))]
    assert len(others) == 4
    times = dict(zip([first, *others], (1200, 1100, 1000, 1400, 1300), strict=True))

    used = called(build(five), five, path, opencl_environment, 11, times)

    again = [others[0], others[1]] * 2
    assert used == [first, *others, *again, others[1], others[1]]


def test_a_kernel_that_is_far_too_slow_is_tried_once(call: Callable[..., list[str]]) -> None:
    used = call(1000, {"A": 100, "B": 1000})

    assert used.count("B") == 1
    assert (100 * used.count("A") + 1000) / (100 * 1000) < 1.03


def test_rows_of_others_stay(call: Callable[..., list[str]], path: Path, library: Library) -> None:
    others = [
        {"device": '\u00b5 "x"\n', "size": [1, 2, 3, 4], "kernel": "of another program"},
        {"kernel": library.kernels[1].name, "problem": "sgemm_tt", "device": "", "size": [1] * 4},
    ]
    path.write_text(json.dumps({"learned": others}, indent=2))

    call(8, {"B": 100})
    Learner(library.selector, path)._save()

    assert rows(path)[:2] == others
    assert len(rows(path)) == 3


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"learned": 1}', '{"learned": [1]}', '{"learned": [{}]}', '{"learned": []',
     '{"learned": [{"device": "d", "size": [1, 2, 3], "kernel": "k"}]}',
     '{"learned": [{"device": "d", "size": [1, 2, 3, 4]}]}', '{"learned": [{"device": "\\u12',
     '{"learned": [{"device": "' + "x" * 5000 + '", "size": [1, 2, 3, 4], "kernel": "k"}]}',
     '{"learned": []} x', '{"learned": [{"device": "\\'],
)  # fmt: skip
def test_a_file_of_another_program_is_refused_and_left(
    text: str, call: Callable[..., list[str]], path: Path
) -> None:
    path.write_text(text)

    assert call(1, {}) == ["learn: -1"]
    assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file_that_cannot_be_written_is_refused(
    call: Callable[..., list[str]], path: Path
) -> None:
    path.mkdir()

    assert call(1, {}) == ["learn: -1"]
