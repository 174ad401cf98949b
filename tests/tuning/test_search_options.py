"""The options of a search: defaults, and changes that a resumed run refuses."""

from __future__ import annotations

import math
import os
from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from mltune.cli.parser import seed
from mltune.errors import UsageError
from mltune.problem import Size
from mltune.run.run_info import RunInfo, SearchedSpace
from mltune.search.names import MOST_SEED
from mltune.tuning.families import family_named
from mltune.tuning.new_run import default_folder, new_run_info
from mltune.tuning.resumed_run import check_resumed, newest_run
from mltune.tuning.search_options import (
    CHECKED_APART,
    KINDS,
    NO_PRIORS,
    UNLIMITED_BUDGET,
    SearchOptions,
    asked_sizes,
    check_options,
    trials_asked,
)


def test_what_was_not_given_has_the_documented_default(info: RunInfo) -> None:
    made = new_run_info(SearchOptions(), info.device, info.searched_spaces)

    assert (made.budget, made.sampler, made.seed) == (500, "guided", 0)
    assert (made.alpha, made.beta) == (1.0, 0.0)
    assert (made.timing.samples, made.timing.build_timeout_seconds) == (7, 60.0)
    assert made.timing.run_timeout_seconds == 30.0
    assert made.to_json()["problem"] == "sgemm_nn"


def test_a_time_limit_alone_bounds_no_trials(info: RunInfo) -> None:
    asked = replace(info, budget=500)

    assert trials_asked(SearchOptions(), asked) == 500
    assert trials_asked(SearchOptions(budget=7, time_limit_seconds=1), asked) == 7
    assert trials_asked(SearchOptions(time_limit_seconds=1), asked) == UNLIMITED_BUDGET


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_sizes_are_those_of_the_kind_of_device(info: RunInfo, kind: str) -> None:
    device = replace(info.device, kind=kind)
    made = new_run_info(SearchOptions(), device, info.searched_spaces)

    assert (made.space, made.space_text) == (info.space, info.space_text)
    assert len(made.sizes) >= 12


def test_a_run_of_several_spaces_keeps_all_their_texts(info: RunInfo) -> None:
    spaces = (*info.searched_spaces, SearchedSpace("mine.yaml", "direct", "name: mine\n"))
    made = new_run_info(SearchOptions(), info.device, spaces)

    assert (made.space, made.space_text, made.family) == ("auto", "", "tiled, direct")
    assert made.searched_spaces == spaces
    assert RunInfo.from_json(made.to_json()) == made
    assert made.space_hash != info.space_hash


def test_zero_is_a_value_and_not_a_missing_one(info: RunInfo) -> None:
    made = new_run_info(
        SearchOptions(alpha=0.0, beta=0.5, seed=0), info.device, info.searched_spaces
    )

    assert (made.alpha, made.beta) == (0.0, 0.5)


def test_an_array_of_sizes_is_a_list_of_them(info: RunInfo) -> None:
    sizes: Any = np.array([[8, 16, 8]])

    made = new_run_info(SearchOptions(sizes=sizes), info.device, info.searched_spaces)

    assert made.sizes == (Size((8, 16, 8)),)


def test_sizes_that_do_not_fit_the_problem_are_refused(info: RunInfo) -> None:
    with pytest.raises(UsageError, match="takes MxNxK"):
        new_run_info(SearchOptions(sizes="8x8"), info.device, info.searched_spaces)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sampler": "annealing"}, "unknown sampler 'annealing'"),
        ({"problem": "gemm"}, "problem: unknown 'gemm'"),
        ({"sizes": "8x"}, "8x"),
        ({"storage": "here"}, "storage: 'here' is no URL"),
        ({"seed": -1}, "seed: must be at least 0, got -1"),
        ({"seed": 2**31}, "seed: must be at most 2147483647, got 2147483648"),
        ({"budget": 0}, "budget: must be at least 1, got 0"),
        ({"patience": 0}, "patience: must be at least 1, got 0"),
        ({"rest_seconds": -1}, "rest_seconds: must be at least 0, got -1"),
        ({"time_limit_seconds": 0}, "time_limit_seconds: must be above 0, got 0"),
        ({"run_timeout_seconds": 1e10}, "run_timeout_seconds: must be at most 1000000000, got 1"),
        ({"time_limit_seconds": math.nan}, "time_limit_seconds: must be a finite number, got nan"),
        ({"alpha": math.inf}, "alpha: must be a finite number, got inf"),
        ({"budget": "5"}, "budget: must be a whole number, got '5'"),
        ({"time_limit_seconds": "5"}, "time_limit_seconds: must be a number, got '5'"),
        ({"device": 5}, "device: must be text, got 5"),
        ({"budget": True}, "budget: must be a whole number, got True"),
        ({"resume": "no"}, "resume: must be True or False, got 'no'"),
        ({"space": 5}, "space: must be text or a list of it, got 5"),
        ({"observers": "nvml"}, "observers: must be a list of words, got 'nvml'"),
        ({"observers": [5]}, r"observers: must be a list of words, got \[5\]"),
        ({"folder": 5}, "^folder: must be a path, got 5$"),
        ({"kernels": 5}, "^kernels: must be a path, got 5"),
        ({"priors": [5]}, r"^priors: must be a path, got \[5\]"),
        ({"sizes": [(8, 8, "x")]}, "size '8x8xx': expected MxNxK"),
        ({"sizes": (8, 8, 8)}, r"or a list of \(64, 64, 64\), got \(8, 8, 8\)"),
        ({"sizes": 8}, "got 8$"),
        ({"sizes": np.array([8, 8, 8])}, r"got array\(\[8, 8, 8\]\)$"),
        ({"sizes": np.array([])}, "sizes: expected at least one"),
    ],
)
def test_a_mistake_is_found_before_a_device_is_opened(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_options(SearchOptions(**wrong))


def test_every_option_is_checked() -> None:
    unchecked = {name for name, hint in get_type_hints(SearchOptions).items() if hint not in KINDS}

    assert unchecked == CHECKED_APART


def test_python_may_give_text_and_tuples() -> None:
    asked = SearchOptions(folder="run", priors="none", kernels="mine.json")  # type: ignore[arg-type]

    assert (asked.folder, asked.priors, asked.kernels) == (
        Path("run"),
        NO_PRIORS,
        (Path("mine.json"),),
    )
    once = SearchOptions(sizes=(size for size in [(8, 16, 8)]))  # type: ignore[arg-type]
    check_options(once)
    assert once.sizes is not None
    for sizes in (once.sizes, "8x16x8", ["8x16x8"], [(8, 16, 8)], [Size((8, 16, 8))]):
        assert asked_sizes(sizes) == (Size((8, 16, 8)),)


def test_numpys_numbers_become_pythons_which_json_can_hold() -> None:
    given: dict[str, Any] = {"seed": np.int64(3), "budget": np.uint8(5), "alpha": np.float32(0.5)}
    asked = SearchOptions(**given, run_timeout_seconds=np.float64(2))

    check_options(asked)
    numbers = (asked.seed, asked.budget, asked.alpha, asked.run_timeout_seconds)
    assert numbers == (3, 5, 0.5, 2.0)
    assert [type(each) for each in numbers] == [int, int, float, float]


def test_the_largest_seed_is_that_of_the_command_line() -> None:
    assert seed(str(MOST_SEED)) == MOST_SEED
    with pytest.raises(ArgumentTypeError):
        seed(str(MOST_SEED + 1))


def test_the_family_of_a_space_must_be_known() -> None:
    with pytest.raises(UsageError, match=r"^mine\.yaml: unknown kernel family 'woven' \(known: "):
        family_named("woven", "mine.yaml")


def test_resuming_with_the_same_words_is_fine(info: RunInfo) -> None:
    same = SearchOptions(
        sampler="tpe", seed=1, problem="sgemm", sizes="8x8x8,16x8x8", samples=7, budget=99
    )

    check_resumed(same, info, Path("run"))
    check_resumed(SearchOptions(), info, Path("run"))
    learnt = replace(info, sampler="guided", priors=(str(Path("mine").absolute()), "shipped:one"))
    for priors in ((Path("shipped"), Path("mine")), ()):
        check_resumed(SearchOptions(priors=priors), learnt, Path("run"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"sampler": "random"}, "--sampler tpe, got random"),
        ({"seed": 0}, "--seed 1, got 0"),
        ({"alpha": 0.0}, "--alpha 1.0, got 0.0"),
        ({"beta": 1.0}, "--beta 0.0, got 1.0"),
        ({"samples": 9}, "--samples 7, got 9"),
        ({"build_timeout_seconds": 1.0}, "--build-timeout 60.0, got 1.0"),
        ({"run_timeout_seconds": 1.0}, "--run-timeout 30.0, got 1.0"),
        ({"problem": "dgemm"}, "--problem sgemm_nn, got dgemm_nn"),
        ({"sizes": "8x8x8"}, "--sizes 8x8x8,16x8x8, got 8x8x8"),
        ({"observers": ("nvml", "rapl")}, "--observe none, got nvml,rapl"),
        ({"priors": (Path("shipped"), Path("/mine"))}, "--prior none, got /mine"),
    ],
)
def test_resuming_with_other_words_is_refused(
    info: RunInfo, other: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        check_resumed(SearchOptions(**other), info, Path("run"))

    assert str(refusal.value).startswith(f"run: was begun with {words}")


def test_resuming_with_another_space_is_refused(info: RunInfo, tmp_path: Path) -> None:
    space = tmp_path / "space.yaml"
    space.write_text(info.space_text)
    check_resumed(SearchOptions(space=str(space)), info, Path("run"))

    space.write_text(info.space_text + "# changed\n")
    with pytest.raises(UsageError, match="another text of the space made-up"):
        check_resumed(SearchOptions(space=str(space)), info, Path("run"))


def test_a_second_run_of_a_day_gets_a_number(
    info: RunInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = default_folder(info)
    first.mkdir(parents=True)

    second = default_folder(info)

    assert first.parent == Path("runs")
    assert first.name.endswith(f"-sgemm-nn-{info.device.slug}")
    assert second.name == f"{first.name}-2"


def test_the_newest_run_is_the_one_that_was_begun_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="there is no run to resume"):
        newest_run()

    for age, name in enumerate(("young", "old")):
        path = tmp_path / "runs" / name / "run.json"
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, (1000 - age, 1000 - age))
    assert newest_run() == Path("runs/young")
