"""A cost model uses other devices' rows if they help, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.cost_model import load
from mltune.cost_model import train as cost_model_train
from mltune.errors import UsageError
from mltune.measurement import Measurement
from mltune.run.run_info import RunInfo
from mltune.workflow.train import train

Make = Callable[..., Measurement]
Save = Callable[[str, RunInfo, Iterable[Measurement]], Path]


def law(number: int, m: int) -> float:
    """Seconds: best in the middle, and growing with the size."""
    return 1e-5 * m * (1 + abs(number - 3))


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let models have fewer trees than shipped ones, but enough to learn from another device.

    With 50 trees, the processor's rounding decides whether six rows gain from it.
    """
    monkeypatch.setattr(cost_model_train, "_TREES", 100)


@pytest.fixture
def run(make: Make, info: RunInfo, save: Save) -> Path:
    """A few configs on two sizes."""
    rows = [make(number, m, law(number, m)) for number in (0, 2, 5) for m in (8, 16)]
    return save("few", info, rows)


def other_run(make: Make, info: RunInfo, save: Save, law: Callable[[int, int], float]) -> Path:
    """Many configs on many sizes, of another device."""
    device = replace(info.device, name="elsewhere", compute_units=64)
    rows = [make(n, m, law(n, m), device="elsewhere") for n in range(8) for m in range(8, 48, 4)]
    return save("other", replace(info, id="other", device=device), rows)


@pytest.mark.long
def test_other_devices_that_help_are_learnt_from(
    make: Make, info: RunInfo, save: Save, run: Path, tmp_path: Path
) -> None:
    other = other_run(make, info, save, lambda number, m: 4 * law(number, m))
    result = train([run], tmp_path / "model", 0, [other])

    assert result.is_helped
    assert result.alone is not None
    assert result.model.scores is not None
    assert result.model.scores.rmse_log < result.alone.rmse_log
    assert result.model.rows == 6
    assert load(tmp_path / "model").device == info.device


def test_other_devices_that_mislead_are_left_out(
    make: Make, info: RunInfo, save: Save, run: Path, tmp_path: Path
) -> None:
    other = other_run(make, info, save, lambda number, m: 1e-3 / law(number, m))
    result = train([run], tmp_path / "model", 0, [other])

    assert not result.is_helped
    assert result.model.scores == result.alone
    assert result.to_json()["is_helped"] is False


def test_the_same_device_is_no_other_one(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"few: was measured on the device of the model"):
        train([run], tmp_path / "model", 0, [run])


def test_a_model_that_cannot_be_written_is_refused_before_the_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model" / "model.json").mkdir(parents=True)
    monkeypatch.setattr("mltune.workflow.train.fit", None)

    with pytest.raises(UsageError, match=r"model\.json: cannot write \(Is a directory\)"):
        train([run], tmp_path / "model", 0)
