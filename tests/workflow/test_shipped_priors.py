"""The shipped runs with which a search begins, and their names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import parse_problem_type
from mltune.resources import data_folder
from mltune.run.run_info import RunInfo, SearchedSpace
from mltune.search.transfer import Transfer
from mltune.search.union_sampler import leaders_of, transfers_of
from mltune.space.load import parse_space
from mltune.space.union import UnionSpace
from mltune.workflow import shipped_priors
from mltune.workflow.chosen_spaces import bound_space, choose_spaces
from mltune.workflow.recordings import suited
from mltune.workflow.run_setup import read_priors
from mltune.workflow.shipped_priors import (
    default_priors,
    describe,
    identity,
    index,
    is_similar,
    name_leaders,
    read_shipped,
)
from tests.devices import CPU, GPU
from tests.quick import QUICK_SPACE

H200 = replace(GPU, name="NVIDIA H200", compute_capability=90)
H100 = replace(H200, name="NVIDIA H100 80GB HBM3")
EPYC = replace(CPU, name="pthread-AMD EPYC 7763 64-Core")


def searched(info: RunInfo, names: tuple[str, ...], device: DeviceInfo, problem: str) -> RunInfo:
    contraction = parse_problem_type(problem)
    spaces = tuple(choose_spaces(names, device, contraction))
    first = replace(info, device=device, contraction=contraction, space=",".join(names))
    if len(spaces) > 1:
        return replace(first, spaces=spaces, space_text="", family="")
    return replace(first, space_text=spaces[0].text, family=spaces[0].family)


def test_every_prior_of_the_index_can_be_read() -> None:
    assert len(index()) >= 15
    for prior in index():
        recording = read_shipped(f"shipped:{prior.name}")
        assert recording is not None
        assert recording.optimum_seconds
        assert (recording.family, recording.problem) == (prior.family, prior.problem)


@pytest.mark.parametrize(
    ("space", "device", "problem", "expected"),
    [
        ("mma-nvidia", H200, "sgemm_nn", {"sgemm-nn-nvidia-h200-mma-nvidia"}),
        (
            "mma-nvidia",
            H100,
            "sgemm_nt",
            {"sgemm-nt-nvidia-h100-mma-nvidia"},  # of two days
        ),
        (
            "wgmma-nvidia",
            H200,
            "hgemm_nt",
            {"hgemm-nt-nvidia-h200-wgmma-nvidia"},  # of two days
        ),
        (
            "mma-nvidia",
            H100,
            "hgemm_tn",
            {"hgemm-tn-nvidia-h100-3-mma-nvidia", "hgemm-tn-nvidia-h200-mma-nvidia"},
        ),
        ("packed-cpu", EPYC, "sgemm_nn", {"sgemm-nn-pocl"}),
        ("packed-cpu", replace(EPYC, name="cpu-Intel(R) Xeon(R)"), "sgemm_nn", set()),
        ("packed-cpu", EPYC, "dgemm_nn", set()),
    ],
)
def test_a_search_begins_with_the_runs_that_are_most_alike(
    info: RunInfo, space: str, device: DeviceInfo, problem: str, expected: set[str]
) -> None:
    asked = searched(info, (space,), device, problem)

    found = default_priors(asked, bound_space(asked))

    without_date = {name.removeprefix("shipped:")[len("2026-11-21-") :] for name in found}
    assert without_date - {"sgemm-nn-nvidia-h200-mma-2"} == expected


def test_of_like_runs_those_of_the_nearest_number_of_units_are_taken(
    info: RunInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = next(each for each in index() if each.name.endswith("sgemm-nn-pocl"))
    units = {"2026-1": 8, "2026-2": 3, "2026-3": 1, "2026-4": 0, "2026-5": 64}
    made_up = tuple(
        replace(prior, name=name, device={**prior.device, "compute_units": count})
        for name, count in units.items()
    )
    monkeypatch.setattr("mltune.workflow.shipped_priors.index", lambda: made_up)
    asked = searched(info, ("packed-cpu",), replace(EPYC, compute_units=4), "sgemm_nn")

    assert default_priors(asked, bound_space(asked)) == ("shipped:2026-1", "shipped:2026-2")


def test_each_space_of_a_union_learns_from_runs_of_its_own(info: RunInfo) -> None:
    asked = searched(info, ("mma-nvidia", "direct", "thin"), H200, "sgemm_nn")
    space = bound_space(asked)
    assert isinstance(space, UnionSpace)
    names = default_priors(asked, space)

    priors = read_priors(replace(asked, priors=names), lambda line: None)
    transfers = transfers_of(space, priors, 0)

    runs = [prior for prior in priors if prior.points]
    assert describe(names).startswith(f"begins with what {len(runs)} shipped runs on NVIDIA H200")
    assert sum(len(one._experts) for one in transfers if one is not None) == len(runs)
    pairs = zip(space.members, transfers, strict=True)
    known = [member for member, one in pairs if one is not None]
    assert {member.name for member in known} <= {prior.space for prior in runs}
    assert {prior.family for prior in runs} == {member.family for member in known}


def test_the_kernels_of_packs_are_tried_first(info: RunInfo) -> None:
    asked = searched(info, ("mma-nvidia", "direct", "thin"), H200, "sgemm_nn")
    space = bound_space(asked)
    assert isinstance(space, UnionSpace)
    names = default_priors(asked, space)

    priors = read_priors(replace(asked, priors=names), lambda line: None)

    packs = [name for name in names if "/" in name]
    assert packs[0] == "shipped:nvidia-h200/sgemm_nn"  # of this device
    assert name_leaders(names)
    assert f"and the kernels of {len(packs)} packs" in describe(names)
    leaders = leaders_of(space, [suited(prior, space) for prior in priors])
    assert len(leaders) > 30
    assert all(config in space for config in leaders)
    own = suited(next(prior for prior in priors if prior.where == packs[0]), space)
    assert {each for each in own.leaders if each in space} <= set(leaders)


def test_a_search_reads_each_prior_once(info: RunInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def noting(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def noted(path: Path) -> Any:
            read.append(path)
            return function(path)

        return noted

    for name in ("read_packed", "read_selector"):
        monkeypatch.setattr(shipped_priors, name, noting(getattr(shipped_priors, name)))
    shipped_priors._kernels.cache_clear()
    shipped_priors._points.cache_clear()
    asked = searched(info, ("auto",), H200, "sgemm_nn")
    names = default_priors(asked, bound_space(asked))

    priors = read_priors(replace(asked, priors=names), lambda line: None)

    assert [prior.where for prior in priors] == list(names)
    assert len(read) >= len(names)
    assert len(set(read)) == len(read)


@pytest.mark.parametrize("problem", ["sgemm_nn", "hgemm_nn", "hgemm_tt", "dgemm_nn"])
def test_kernels_older_than_a_parameter_are_tried_too(problem: str) -> None:
    bound = choose_spaces(("auto",), H200, parse_problem_type(problem))
    space = UnionSpace("auto", tuple(bound.values()))

    for device in ("nvidia-h100-80gb-hbm3", "nvidia-h200"):
        pack = read_shipped(f"shipped:{device}/{problem}")
        leaders = suited(pack, space).leaders if pack else ()
        lost = [each for each in leaders if each not in space]
        assert len(lost) <= 1, (device, lost)  # the space changed


def test_what_shares_no_parameter_is_left_out(info: RunInfo) -> None:
    text = "name: own\nfamily: mma\nparameters:\n  never_heard_of: {values: [1, 2]}\n"
    own = replace(info, device=H200, space="own", space_text=text, family="mma")

    assert default_priors(own, parse_space(text, "own").bind({})) == ()


def test_a_space_of_the_users_learns_from_its_family(info: RunInfo) -> None:
    own = replace(info, device=H200, space="mine.yaml", space_text=QUICK_SPACE)

    assert default_priors(own, bound_space(own))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"name": "NVIDIA GH200 480GB"}, True),
        ({"compute_capability": 80}, True),  # the name is the same
        ({"name": "NVIDIA A100", "compute_capability": 80}, False),
        ({"vendor": "Advanced Micro Devices, Inc."}, False),
        ({"wave_size": 64}, False),
        ({"kind": "cpu"}, False),
    ],
)
def test_devices_are_alike_by_vendor_wave_and_capability(
    change: dict[str, object], expected: bool
) -> None:
    assert is_similar(identity(H200), replace(H200, **change)) is expected  # type: ignore[arg-type]


def test_a_prior_that_is_gone_ends_no_resumed_run(info: RunInfo) -> None:
    notes: list[str] = []

    assert read_priors(replace(info, priors=("shipped:gone", "gone/run")), notes.append) == []
    assert notes == [
        "--prior: this mltune ships no shipped:gone: the search continues without it",
        "--prior: no gone/run: the search continues without it",
    ]


@pytest.mark.long
def test_nothing_is_grown_before_it_is_asked() -> None:
    code = (
        "import sys\n"
        "from mltune.workflow.shipped_priors import read_shipped, index\n"
        "priors = [read_shipped('shipped:' + prior.name) for prior in index()]\n"
        "assert all(priors) and 'sklearn' not in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_damaged_record_is_refused_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = min(index(), key=lambda each: (data_folder("models") / each.file).stat().st_size)
    packed = (data_folder("models") / prior.file).read_bytes()
    monkeypatch.setattr("mltune.workflow.shipped_priors.data_folder", lambda name: tmp_path)
    monkeypatch.setattr("mltune.workflow.shipped_priors.index", lambda: (prior,))
    file = tmp_path / prior.file
    file.parent.mkdir(parents=True)
    for place in range(10, len(packed), len(packed) // 50):
        file.write_bytes(packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :])
        with pytest.raises(UsageError, match=re.escape(str(file))):
            read_shipped(f"shipped:{prior.name}")


def test_a_record_with_few_times_is_refused_when_it_is_read() -> None:
    prior = read_shipped(f"shipped:{index()[0].name}")
    assert prior is not None
    space = parse_space(QUICK_SPACE, "quick").bind({})

    with pytest.raises(UsageError, match="a prior needs 10"):
        Transfer(space, [replace(prior, points=prior.points[:3])], 0)


def test_the_name_of_a_space_is_that_of_its_file() -> None:
    assert SearchedSpace("spaces/mma-nvidia.yaml", "mma", "").name.endswith("yaml")
    assert "mma-nvidia" in {prior.space for prior in index()}
