"""Runs that are read together must fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.distil import Size as TableSize
from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.parameters.declared import with_defaults
from mltune.measurement import Measurement, Phase
from mltune.problem import Precision, Size, gemm, parse_problem_type
from mltune.run.run_info import RunInfo
from mltune.space.config import Config
from mltune.workflow.recorded import TimedByRun, calls, read_runs, with_one_name
from tests.made_up import build_config, build_measurement

Make = Callable[..., Measurement]
Save = Callable[..., Path]


def test_runs_are_read_together(info: RunInfo, make: Make, save: Save) -> None:
    first = save("first", replace(info, created="2026-11-19T08:00:00+00:00"), [make(0, 8, 1.0)])
    twin = replace(info.device, uuid="its twin")
    later = replace(info, id="0" * len(info.id), created="2026-11-21T08:00:00+00:00", device=twin)
    second = save("second", later, [make(1, 16, 1.0)])

    both = read_runs([first, second])

    assert [row.trial for row in both.measurements] == [0, 1]
    assert both.device == info.device
    assert both.model_folder == Path("models") / info.device.slug / "sgemm_nn"
    conditions = dict(both.conditions)
    assert conditions["date"] == "2026-11-19 to 2026-11-21"
    assert dict(read_runs([second, first]).conditions)["date"] == conditions["date"]
    assert dict(read_runs([second]).conditions)["date"] == "2026-11-21"
    assert (conditions["sizes"], conditions["problem"]) == ("2", "sgemm_nn")
    assert "median of 7 samples" in conditions["time"]
    assert [each.sizes for each in both.timed] == [
        {TableSize(8, 8, 8, 1)},
        {TableSize(16, 8, 8, 1)},
    ]
    assert not both.timed[0].kernels & both.timed[1].kernels


def test_a_run_timed_its_leaders_if_it_has_any(make: Make) -> None:
    rows = [make(0, 8, 1.0), make(1, 8, 2.0), make(1, 16, 2.0)]
    kernels = [("tiled", with_defaults("tiled", build_config(number))) for number in (0, 1)]

    searched = TimedByRun.of(rows)
    led = TimedByRun.of([*rows, make(1, 16, 2.0, Phase.FINAL)])

    assert searched.sizes == {TableSize(8, 8, 8, 1), TableSize(16, 8, 8, 1)}
    assert searched.kernels == set(kernels)
    assert led.sizes == {TableSize(16, 8, 8, 1)}
    assert led.kernels == {kernels[1]}


def test_a_measurement_of_two_copies_of_a_run_counts_once(
    info: RunInfo, make: Make, save: Save
) -> None:
    rows = [make(0, 8, 1.0), make(0, 8, 1.1), make(1, 16, 1.0)]
    first, copy = save("first", info, rows), save("copy", info, rows)

    assert read_runs([first, copy]).measurements == read_runs([first]).measurements
    assert read_runs([first, copy]).timed == read_runs([first]).timed


def test_a_budget_is_at_least_the_trials_that_were_made(
    info: RunInfo, make: Make, save: Save
) -> None:
    rows = [make(trial, 8, 1.0) for trial in range(3)]

    for budget, known in ((2, 3), (60, 60)):
        run = save(str(budget), replace(info, budget=budget), rows)
        assert read_runs([run]).infos[0].budget == known


def test_a_run_without_measurements_of_generated_kernels_is_refused(
    info: RunInfo, make: Make, save: Save
) -> None:
    written = replace(make(0, 8, 1.0), family="handwritten")

    with pytest.raises(UsageError, match="holds no measurements"):
        read_runs([save("empty", info, [])])
    with pytest.raises(UsageError, match="written: holds hand-written kernels only"):
        read_runs([save("written", info, [written])])
    assert len(read_runs([save("both", info, [written, make(1, 8, 1.0)])]).measurements) == 1


def test_runs_that_do_not_belong_together_are_refused(
    info: RunInfo, make: Make, save: Save
) -> None:
    one = save("one", info, [make(0, 8, 1.0)])
    type_ = save("type", replace(info, contraction=parse_problem_type("dgemm")), [make(0, 8, 1.0)])
    elsewhere = replace(info, device=replace(info.device, driver_version="4.0"))
    device = save("device", elsewhere, [make(0, 8, 1.0)])

    with pytest.raises(UsageError, match=r"type: its problem is dgemm_nn, that of .*one is sgemm"):
        read_runs([one, type_])
    with pytest.raises(UsageError, match=r"device: its device is .*4\.0, that of .*one is "):
        read_runs([one, device])


def test_a_size_is_called_as_often_as_any_run_says(info: RunInfo) -> None:
    counted = replace(info, sizes=(Size((8, 8, 8), 5), Size((24, 8, 8), 3)))

    found = calls([info, counted, counted])

    assert found == {TableSize(8, 8, 8, 1): 5, TableSize(24, 8, 8, 1): 3}
    assert calls([info]) == {}


def test_kernels_that_differ_in_a_stated_default_are_one() -> None:
    short = replace(generated({}), seconds=(2e-3,))
    whole = generated({"global_split_u": 1})
    older = replace(short, config=Config.of({**short.config, "depth_u": 16}), kernel="other")

    rows = with_one_name([short, whole, older])

    assert [row.kernel for row in rows] == [whole.kernel, whole.kernel, "other"]
    assert [row.median for row in rows] == [2e-3, 1e-3, 2e-3]
    assert rows[0].config == whole.config
    assert rows[0].source_hash == whole.source_hash


def test_times_of_another_version_give_way_to_those_of_this_one() -> None:
    short = replace(generated({}), source_hash="0" * 16)
    whole = generated({"global_split_u": 1})

    assert with_one_name([short, whole]) == (whole,)
    assert with_one_name([short]) == (short,)


def generated(stated: dict[str, int]) -> Measurement:
    """A measurement of a kernel of the tiled family, with some defaults stated."""
    config = Config.of(
        {
            "work_group_0": 8, "work_group_1": 8, "thread_tile_0": 4, "thread_tile_1": 4,
            "depth_u": 8, "vector_width": 1, "vector_access": "cast", "prefetch_global_read": 0,
            "loop_unroll": 1, "multiply_add": "expr", "work_group_mapping": 1, "local_pad": 0,
            **stated,
        }
    )  # fmt: skip
    kernel = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), config)
    return build_measurement(
        0, 64, 1e-3, config=config, kernel=kernel.name, source_hash=kernel.source_hash
    )
