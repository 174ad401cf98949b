"""Exported C learns in use, with made-up times; its file is also Python's."""

import json
import math
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
from mltune.files import take_lock
from mltune.kernel.families import FAMILIES
from mltune.runtime.learning import (
    BUILD_SECONDS,
    CANDIDATES,
    MOST_TRIES,
    SHARE,
    Learner,
    candidates,
)
from mltune.selector import Leaf, Split, Tree
from mltune.space.config import Config
from tests.export.conftest import SMALL
from tests.selectors import entry_of

SIZE = (33, 36, 40)
"""The rule chooses the first kernel here; for sizes nearby also the second."""


@pytest.fixture(scope="module")
def library(tiled: Callable[..., Library]) -> Library:
    return tiled("sgemm_nn")


@pytest.fixture(scope="module")
def five(tiled: Callable[..., Library]) -> Library:
    """Five kernels, each of which is chosen for some size near `SIZE`."""
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
        portfolio=tuple(map(entry_of, kernels)),
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
            f"-Wl,--wrap={name}"
            for name in (
                "clEnqueueNDRangeKernel",
                "clGetEventInfo",
                "clGetEventProfilingInfo",
                "clock",
                "rename",
            )
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
    """Start a process that makes calls, and return the kernels that it launched, as letters."""
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


@pytest.mark.parametrize(("times", "best"), [({"B": 800}, "B"), ({"B": 999}, "A")])
def test_the_faster_kernel_is_kept_and_saved(
    times: Mapping[str, int],
    best: str,
    call: Callable[..., list[str]],
    path: Path,
    library: Library,
    queue: cl.CommandQueue,
) -> None:
    used = call(60, times)
    assert used == python_uses(library, path.with_name("python.json"), times, 60)
    assert used[:3] == [*"AAB"]
    assert used[-10:] == [best] * 10
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
    assert Learner(library.selector, path).use(queue.device.name, (*SIZE, 1)).number == number


def python_uses(library: Library, path: Path, times: Mapping[str, int], calls: int) -> list[str]:
    """The kernel that Python's runtime would launch."""
    learner, used = Learner(library.selector, path), []
    for _ in range(calls):
        use = learner.use("d", (*SIZE, 1))
        used.append("ABCDE"[use.number])
        if use.is_try:
            learner.watch("d", (*SIZE, 1), use.number, [ended(times.get(used[-1], 1000))])
    return used


def ended(nanoseconds: int) -> cl.Event:
    profile = SimpleNamespace(start=0, end=nanoseconds)
    done = cl.command_execution_status.COMPLETE
    return cast(cl.Event, SimpleNamespace(command_execution_status=done, profile=profile))


def test_it_knows_what_python_learned(
    call: Callable[..., list[str]], path: Path, library: Library, queue: cl.CommandQueue
) -> None:
    learner, size = Learner(library.selector, path), (*SIZE, 1)
    for _ in range(6):
        use = learner.use(queue.device.name, size)
        if use.is_try:
            event = ended(1000 - 500 * use.number)
            learner.watch(queue.device.name, size, use.number, [event])

    assert call(3, {}) == [*"BBB"]


def test_a_queue_without_times_uses_what_is_known_and_teaches_nothing(
    call: Callable[..., list[str]],
    program: Path,
    library: Library,
    path: Path,
    opencl_environment: dict[str, str],
) -> None:
    call(60, {"B": 800})
    known = rows(path)
    untimed = partial(called, program, library, path, opencl_environment | {"NO_TIMES": "1"})

    assert untimed(3, {}) == [*"BBB"]
    assert set(untimed(60, {"B": 100}, (30, 31, 33))) == {"A"}
    assert rows(path) == known


def test_it_tries_what_python_tries(call: Callable[..., list[str]], library: Library) -> None:
    for size in ((30, 31, 33), (1, 1, 1), (40, 41, 42), (37, 37, 37), (7, 5, 3)):
        tried = ["AB"[number] for number in candidates(library.selector, (*size, 1))]
        assert call(3, {}, size) == [tried[0], *tried, tried[0]][:3], size


def test_of_several_it_tries_what_python_tries(
    build: Callable[[Library], Path],
    five: Library,
    path: Path,
    opencl_environment: dict[str, str],
) -> None:
    tried = ["ABCDE"[number] for number in candidates(five.selector, (*SIZE, 1))]
    assert len(tried) == CANDIDATES
    program = build(five)
    for given in (
        (1200, 1000, 1020, 1100, 1010),
        (1000, 4000, 1000, 1300, 1000),
        (1000, 1010, 1005, 1015, 1003),
    ):
        times = dict(zip(tried, given, strict=True))

        used = called(program, five, path, opencl_environment, 80, times)

        assert used == python_uses(five, path.with_name("python.json"), times, 80)
        path.unlink()
        path.with_name("python.json").unlink()


def test_a_kernel_that_is_far_too_slow_is_tried_once(call: Callable[..., list[str]]) -> None:
    used = call(1000, {"A": 100, "B": 1000})

    assert used.count("B") == 1
    assert (100 * used.count("A") + 1000) / (100 * 1000) < 1.03


def test_a_kernel_that_is_not_built_waits_until_calls_pay_for_it(
    program: Path, library: Library, path: Path, opencl_environment: dict[str, str]
) -> None:
    times = {"A": 10**9, "B": 10**9 // 2}
    cold = opencl_environment | {"COLD": "1"}
    paid = math.ceil(BUILD_SECONDS / SHARE)

    used = called(program, library, path, cold, 100, times)

    assert used.index("B") == pytest.approx(1 + MOST_TRIES + paid, abs=1)
    assert used[-1] == "B"


def test_a_kernel_that_fails_before_it_begins_is_replaced_and_dropped(
    program: Path, library: Library, path: Path, opencl_environment: dict[str, str]
) -> None:
    first = library.kernels[1].passes[0].entry

    used = called(program, library, path, opencl_environment | {"FAILS": first}, 20, {"B": 100})

    assert set(used) == {"A"}


@pytest.mark.parametrize("mistake", ["WRONG", "LATE"])
def test_a_wrong_call_drops_no_kernel(
    mistake: str, program: Path, library: Library, path: Path, opencl_environment: dict[str, str]
) -> None:
    used = called(program, library, path, opencl_environment | {mistake: "1"}, 60, {"B": 800})

    assert set(used) == {"A", "B"}
    assert rows(path)[0]["kernel"] == library.kernels[1].name


def test_where_the_chosen_kernel_does_not_build_the_others_are_tried(
    build: Callable[[Library], Path],
    library: Library,
    path: Path,
    opencl_environment: dict[str, str],
) -> None:
    chosen, *others = library.kernels
    broken = replace(library, kernels=(replace(chosen, source="not OpenCL"), *others))

    done = subprocess.run(
        [build(broken), path, "60", *map(str, SIZE)],
        capture_output=True, text=True, check=False, env=opencl_environment,
    )  # fmt: skip

    assert done.returncode == 0
    assert [row["kernel"] for row in rows(path)] == [others[0].name]


def test_a_kernel_that_fails_half_way_is_not_replaced(
    program: Path, library: Library, path: Path, opencl_environment: dict[str, str]
) -> None:
    last = library.kernels[1].passes[-1].entry

    done = subprocess.run(
        [program, path, "20", *map(str, SIZE)],
        capture_output=True, text=True, check=False, env=opencl_environment | {"FAILS": last},
    )  # fmt: skip

    begun = -cl.status_code.OUT_OF_RESOURCES
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (begun, last, "")


def test_what_is_known_by_now_is_saved_at_the_end(
    call: Callable[..., list[str]], path: Path, library: Library
) -> None:
    call(5, {"A": 1000, "B": 910})

    assert rows(path)[0]["kernel"] == library.kernels[1].name


def test_a_file_that_another_program_locks_is_saved_at_the_end(
    call: Callable[..., list[str]], path: Path, library: Library
) -> None:
    with take_lock(path.with_name("learned.json.lock"), 0):
        call(60, {"B": 800})

    assert rows(path)[0]["kernel"] == library.kernels[1].name


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


def test_a_file_that_cannot_be_read_is_refused_and_left(
    call: Callable[..., list[str]], path: Path
) -> None:
    path.symlink_to(path)  # opening it fails for every user

    assert call(1, {}) == ["learn: -1"]
    assert path.is_symlink()


def test_a_file_that_cannot_be_written_is_refused(
    call: Callable[..., list[str]], path: Path
) -> None:
    path.mkdir()

    assert call(1, {}) == ["learn: -1"]
