"""The sizes on which `mltune tune` compares with libraries."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mltune.device import DeviceEntry
from mltune.problem import Precision, Size, gemm
from mltune.problem.sizes import parse_sizes
from mltune.tuning.progress import Progress
from mltune.workflow.comparing import TOO_LONG
from mltune.workflow.tune_compare import Chosen, compare_parts
from mltune.workflow.tune_plan import Part
from tests.devices import GPU

WHERE = "mltune.workflow.tune_compare"
ENTRY = cast(DeviceEntry, SimpleNamespace(info=GPU, number="0:0"))
SEARCHED = (Size((64, 64, 64), 5), Size((512, 512, 512), 1))
MODELS = tuple(size.extents for size in parse_sizes("models"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The sizes that the libraries are timed on."""
    sizes: list[tuple[int, ...]] = []

    def bench(*given: Any, **_: Any) -> str:
        sizes.extend(given[3])
        return "nothing was timed"

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    monkeypatch.setattr(f"{WHERE}.absence", lambda *_: "")
    monkeypatch.setattr(f"{WHERE}.read_info", lambda _: SimpleNamespace(sizes=SEARCHED))
    return sizes


def _compare(part: Part, seen: tuple[tuple[int, ...], ...] = ()) -> None:
    chosen = Chosen(part, Path("run"), Path("selector.json"), seen)
    compare_parts([chosen], ("cublas",), ENTRY, 10, lambda _: None, 0)


def test_of_a_suite_on_sizes_that_no_kernel_was_timed_on(asked: list[tuple[int, ...]]) -> None:
    seen = tuple((*size, 1) for size in MODELS[::2])

    _compare(Part(contraction=gemm(Precision.SINGLE)), seen)

    assert len(asked) == 60
    assert set(asked) <= set(MODELS[1::2])


def test_of_a_batch_on_those_of_the_search(asked: list[tuple[int, ...]]) -> None:
    _compare(Part(contraction=gemm(Precision.SINGLE, batched=True)))

    assert sorted(asked) == [size.extents for size in SEARCHED]


def test_of_given_sizes_on_these_alone_spread_out_from_the_middle(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = (1024, 64, 128)
    given = tuple(Size((side, side, side)) for side in sides)
    monkeypatch.setattr(f"{WHERE}.read_info", lambda _: SimpleNamespace(sizes=given))

    _compare(Part(contraction=gemm(Precision.SINGLE), sizes=given))

    assert [m for m, _, _ in asked] == [128, 1024, 64]


def test_of_calls_on_the_most_costly_ones_first(asked: list[tuple[int, ...]]) -> None:
    _compare(Part(contraction=gemm(Precision.SINGLE), sizes=SEARCHED, calls=6))

    assert asked == [size.extents for size in SEARCHED[::-1]]


def test_unknown_sizes_of_all_problem_types_are_counted_together(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bench(*given: Any, **_: Any) -> dict[str, Any]:
        return {"sizes": [{"size": given[3][0], "disturbed": ["mltune"], "contestants": {}}]}

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    chosen = [
        Chosen(
            Part(contraction=gemm(precision), sizes=SEARCHED),
            Path("run"),
            Path("s/selector.json"),
            (),
        )
        for precision in (Precision.SINGLE, Precision.DOUBLE)
    ]
    against, lacking = compare_parts(chosen, ("cublas",), ENTRY, 10, lambda _: None, 0)

    assert against == ()
    assert lacking == (
        "other work disturbed 2 of 4 sizes",
        "no time to compare 2 of 4 sizes (compare on a quiet machine: mltune bench s)",
    )


def test_where_the_first_problem_type_took_the_time_the_next_is_not_begun(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []

    def bench(*given: Any, **_: Any) -> dict[str, Any]:
        seconds.append(given[4])
        sizes = [{"size": size, "disturbed": [], "contestants": {}} for size in given[3]]
        return {"sizes": sizes}

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    chosen = [
        Chosen(
            Part(contraction=gemm(precision), sizes=SEARCHED), Path("run"), Path("s/x.json"), ()
        )
        for precision in (Precision.SINGLE, Precision.DOUBLE)
    ]
    _, lacking = compare_parts(chosen, ("cublas",), ENTRY, 0.0, lambda _: None, 0)

    assert len(seconds) == 1
    assert seconds[0] > 0
    assert lacking == ("no time to compare 2 of 4 sizes (compare: mltune bench s)",)


def test_problem_types_share_the_time_and_what_a_former_one_left(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    shown: list[Progress] = []
    given: list[tuple[list[str], float, float]] = []

    def bench(*one: Any, rounds: int, start_seconds: float) -> dict[str, Any]:
        given.append((one[1], one[4], start_seconds))
        clock[0] += (40.0, 52.0, 0.0)[len(given) - 1]
        sizes = [{"size": size, "disturbed": [], "contestants": {}} for size in one[3]]
        return {"sizes": sizes}

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr(f"{WHERE}.absence", lambda name, _: "no" * (name == "blis"))
    chosen = [
        Chosen(
            Part(contraction=gemm(precision), sizes=SEARCHED, share=share), Path("run"), Path(), ()
        )
        for precision, share in zip(Precision, (0.2, 0.2, 0.6), strict=False)
    ]
    libraries = ("clblast", "blis", "numpy")
    _, lacking = compare_parts(chosen, libraries, ENTRY, 100.0, shown.append, 0)

    # Of 100, 60 and 8 seconds, 10, 10 and 4 are kept for a second try. Of the rest, the last size
    # may take 10, 10 and 2; the problem type's share of the others is 1/5, 1/4 and all.
    kept = ["clblast", "numpy"]
    assert given == [(kept, 16.0, 74.0), (kept, 10.0, 40.0), (["numpy"], 4.0, 4.0)]
    assert lacking == (
        "no time for clblast, which compiles its kernels (compare: mltune bench .)",
    )
    assert [(one.done, one.total, one.seconds_left) for one in shown] == [
        (0, 3, 100.0),
        (1, 3, 60.0),
        (2, 3, 8.0),
    ]


def test_why_nothing_was_compared_is_stated(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part(contraction=gemm(Precision.SINGLE), sizes=SEARCHED)
    chosen = [Chosen(part, Path("run"), Path("s/x.json"), ())]

    def lacking(*names: str) -> tuple[str, ...]:
        against, lines = compare_parts(chosen, names, ENTRY, 100.0, lambda _: None, 0)
        assert against == ()
        return lines

    assert lacking("cublas") == ("sgemm_nn beside libraries: nothing was timed",)
    monkeypatch.setattr(f"{WHERE}.bench_apart", lambda *_, **__: TOO_LONG)
    assert lacking("cublas") == (f"sgemm_nn beside libraries: {TOO_LONG}",)
    monkeypatch.setattr(f"{WHERE}.absence", lambda *_: "it is not installed")
    assert lacking("cublas") == ("no library to compare with is installed",)


@pytest.mark.parametrize(
    ("disturbed", "line"),
    [
        ([["mltune"], []], "other work disturbed 1 of 2 sizes"),
        (
            [["mltune"], ["mltune"]],
            "other work disturbed 2 of 2 sizes (compare on a quiet machine: mltune bench s)",
        ),
    ],
)
def test_a_second_comparison_is_suggested_if_the_first_told_nothing(
    asked: list[tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
    disturbed: list[list[str]],
    line: str,
) -> None:
    def bench(*given: Any, **_: Any) -> dict[str, Any]:
        return {
            "sizes": [
                {"size": size, "disturbed": each, "contestants": {}}
                for size, each in zip(given[3], disturbed, strict=True)
            ]
        }

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    part = Part(contraction=gemm(Precision.SINGLE), sizes=SEARCHED)
    chosen = [Chosen(part, Path("run"), Path("s/x.json"), ())]

    assert compare_parts(chosen, ("cublas",), ENTRY, 10, lambda _: None, 0)[1] == (line,)


@pytest.mark.parametrize(
    ("left", "spent"),
    [(0.0, [5.0]), (4.0, [5.0]), (10.0, [5.0, 5.0]), (16.0, [8.0, 8.0]), (120.0, [110.0, 10.0])],
)
def test_a_library_that_compiles_for_too_long_leaves_time_for_the_others(
    asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch, left: float, spent: list[float]
) -> None:
    clock, tries, took = [0.0], [], []

    def bench(*given: Any, start_seconds: float, **_: Any) -> dict[str, Any] | str:
        tries.append(given[1])
        took.append(given[4] + start_seconds)
        clock[0] += took[-1]
        sizes = [{"size": size, "disturbed": [], "contestants": {}} for size in given[3]]
        return TOO_LONG if "clblast" in given[1] else {"sizes": sizes}

    monkeypatch.setattr(f"{WHERE}.bench_apart", bench)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    chosen = Chosen(Part(contraction=gemm(Precision.SINGLE)), Path("run"), Path("s/x.json"), ())
    _, lacking = compare_parts([chosen], ("clblast", "numpy"), ENTRY, left, lambda _: None, 0)

    assert tries == [["clblast", "numpy"], ["numpy"]][-len(spent) :]
    assert took == spent
    assert lacking == (
        "no time for clblast, which compiles its kernels (compare: mltune bench s)",
    )
