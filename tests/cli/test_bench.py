"""`mltune bench` as a user types it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mltune.device import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mltune.runtime.gemm_kernel import GemmKernel
    from tests.cli.conftest import Command

SIZES = "16x16x16,33x17x9"


def test_the_tuned_kernels_beside_numpy(
    mltune: Command, selector: Path, device_spec: str, tmp_path: Path
) -> None:
    figure = tmp_path / "bench.svg"

    done = mltune(
        "bench", selector, "--against", "numpy,cublas", "--sizes", SIZES, "--device", device_spec,
        "--rounds", "3", "--figure", figure, "--json", "--quiet",
    )  # fmt: skip
    document = done.json

    assert done.code == 0
    assert list(document["contestants"]) == ["mltune", "numpy"]
    assert "is no NVIDIA device" in document["absent"]["cublas"]
    assert [size["size"] for size in document["sizes"]] == [[16, 16, 16], [33, 17, 9]]
    for size in document["sizes"]:
        ours, theirs = size["contestants"]["mltune"], size["contestants"]["numpy"]
        assert ours["kernel"].startswith("Cij_Aik_Bkj_SB_MT")
        assert ours["relative_error"] < 1e-5
        assert len(ours["call_samples"]) == len(theirs["call_samples"]) == 3
        assert len(ours["kernel_samples"]) <= 3  # none if other work disturbed the host
        assert theirs["kernel_seconds"] is None
    disturbed = [size for size in document["sizes"] if size["disturbed"]]
    for ratio in document["ratios"]:
        assert (ratio["against"], ratio["clock"]) == ("numpy", "call")
        assert 2 - len(disturbed) <= ratio["sizes"] == 2 - ratio["left_out"]
        assert ratio["geomean_of_best"] > 0
    assert bool(document["ratios"]) or len(disturbed) == 2
    assert document["warning"] in done.err
    assert figure.read_text(encoding="utf-8").startswith("<svg ")


def test_no_size_begins_after_the_time_limit(mltune: Command, device_spec: str) -> None:
    words = (
        "bench", "--against", "numpy", "--sizes", SIZES, "--device", device_spec,
        "--time-limit", "1e-9", "--quiet",
    )  # fmt: skip

    done = mltune(*words, "--json")
    assert [size["size"] for size in done.json["sizes"]] == [[16, 16, 16]]
    assert done.json["sizes_left_out"] == 1
    assert "\nthe time limit left out 1 of 2 sizes\n" in mltune(*words).out


def test_a_pack_whose_kernels_are_written_otherwise_today_is_compared_without_a_word(
    mltune: Command, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mltune.kernel import Kernel

    monkeypatch.setattr(Kernel, "source_hash", "changed")
    done = mltune(
        "bench", "pthread-amd-epyc/sgemm_nn", "--against", "numpy", "--sizes", "16x16x16",
        "--device", device_spec, "--time-limit", "1e-9",
    )  # fmt: skip

    assert done.code == 0
    assert "differently" not in done.err


def test_a_pack_of_which_no_kernel_runs_is_refused_under_a_time_limit_too(
    mltune: Command, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [choose(device_spec)]
    monkeypatch.setattr("mltune.runtime.loading.list_devices", lambda: here)

    done = mltune(
        "bench", "nvidia-h100-80gb-hbm3/hgemm_nt", "--against", "numpy", "--sizes", "16x16x16",
        "--device", device_spec, "--time-limit", "20",
    )  # fmt: skip

    assert (done.code, done.out) == (4, "")
    assert "none of its 27 kernels runs there" in done.err


def test_only_kernels_that_are_used_or_checked_are_built_ahead(
    mltune: Command, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mltune.runtime import load

    entry = choose(device_spec)
    gpu = replace(entry, info=replace(entry.info, kind="gpu"))  # whose kernels are built ahead
    pack = "pthread-amd-epyc/sgemm_nn"
    tuned = load(Path(pack))
    built: list[GemmKernel] = []

    def taken(kernels: Sequence[GemmKernel], *_: object) -> Any:
        built.extend(kernels)
        return nullcontext()

    monkeypatch.setattr("mltune.workflow.bench.choose", lambda _: gpu)
    monkeypatch.setattr("mltune.workflow.bench.built_ahead", taken)
    done = mltune(
        "bench", pack, "--against", "numpy", "--sizes", "16x16x16", "--rounds", "1", "--json",
    )  # fmt: skip

    assert done.code == 0
    sizes = [(16, 16, 16), *(each.size for each in tuned.speeds)]
    wanted = {tuned.select(*size).kernel.name for size in sizes}
    assert sorted(each.name for each in built) == sorted(wanted)
    assert len(wanted) < len(tuned.kernels)


def test_a_library_that_leaves_a_number_out_has_no_error_in_json(
    mltune: Command, selector: Path, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mltune.bench.numpy_blas import NumpyProduct

    monkeypatch.setattr(
        NumpyProduct, "compute", lambda self: np.full(self.task.c_shape, np.nan, np.float32)
    )
    words = (
        "bench", selector, "--against", "numpy", "--sizes", "16x16x16", "--device", device_spec,
        "--rounds", "3", "--quiet",
    )  # fmt: skip

    (size,) = mltune(*words, "--json").json["sizes"]

    assert size["contestants"]["numpy"]["relative_error"] is None
    assert size["contestants"]["mltune"]["relative_error"] < 1e-5
    assert "nan" in mltune(*words).out


def test_a_note_names_the_device_that_a_selector_was_tuned_for(
    mltune: Command, selector: Path, device_spec: str, tmp_path: Path
) -> None:
    document = json.loads(selector.read_text())
    document["conditions"]["device"] = "Sonic 3000"
    far = tmp_path / "far.json"
    far.write_text(json.dumps(document))
    quick = ("--against", "numpy", "--sizes", "16x16x16", "--device", device_spec)

    elsewhere, here = (mltune("bench", each, *quick) for each in (far, selector))

    name = choose(device_spec).info.name
    assert f"sgemm_nn was tuned for Sonic 3000; it runs on {name} here\n" in elsewhere.err
    assert ", tuned on Sonic 3000\n" in elsewhere.out
    assert "was tuned for" not in here.err
    assert "tuned on" not in here.out


def test_the_table_names_who_was_left_out_and_why(mltune: Command, device_spec: str) -> None:
    shown = mltune(
        "bench", "--against", "numpy,cublas", "--sizes", SIZES, "--device", device_spec,
        "--problem", "dgemm_tn", "--rounds", "3", "--quiet",
    )  # fmt: skip

    assert shown.code == 0
    assert shown.err == ""
    assert "cublas: left out, " in shown.out
    assert "33x17x9" in shown.out


def test_beside_other_work_no_figure_stands_without_a_warning(
    mltune: Command, selector: Path, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.bench.other_work.OtherWork.share", lambda self: 0.86)
    command = (
        "bench", selector, "--against", "numpy", "--sizes", SIZES, "--device", device_spec,
        "--rounds", "3", "--quiet",
    )  # fmt: skip
    told = (
        "warning: samples of 2 of 2 sizes were disturbed, which take no part in ratios (other "
        "work took 86% of the processor): measure again when nothing else runs\n"
    )

    shown, done = mltune(*command), mltune(*command, "--json")

    assert shown.out.count("other work took 86% of the processor") == 3
    assert told in shown.out
    assert "geomean" not in shown.out
    assert done.err == told
    assert done.json["ratios"] == []
    assert done.json["warning"] == told.removeprefix("warning: ").rstrip()
    assert [size["other_work"] for size in done.json["sizes"]] == [0.86, 0.86]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--against", "mkl"), "against: unknown library 'mkl' (known: clblast, cublas, numpy)"),
        (("--figure", "x.png"), "figure: must be an .svg file, got 'x.png'"),
        (("--figure", "nosuch/x.svg"), "figure: nosuch/x.svg: there is no folder nosuch"),
        (("--problem", "s:abc,cd->abd"), "problem: bench compares BLAS's GEMMs"),
        (("--problem", "Cij_AikC_Bkj_CB"), "problem: bench compares BLAS's GEMMs"),
        (("--against", "cublas", "--device", "{device}"), "bench: nothing to compare (cublas: "),
    ],
)
def test_a_mistake_is_one_line(
    mltune: Command, device_spec: str, arguments: tuple[str, ...], line: str
) -> None:
    done = mltune("bench", *(text.format(device=device_spec) for text in arguments))

    assert done.code == 2
    assert done.err.startswith(f"mltune: {line}")
    assert done.err.count("\n") == 1


def test_a_figure_that_cannot_be_written_is_refused_before(
    mltune: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.svg").mkdir()

    done = mltune("bench", "--figure", tmp_path / "a.svg")

    assert (done.code, done.out) == (2, "")
    assert done.err == f"mltune: {tmp_path}/a.svg: cannot write (Is a directory)\n"
