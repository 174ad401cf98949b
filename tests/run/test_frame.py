from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mltune.measurement import Measurement, Status
from mltune.run.frame import to_frame
from mltune.run.run import Run
from mltune.space.config import Config

Make = Callable[..., Measurement]

SHIPPED = Path(__file__).parents[2] / "runs" / "2026-11-22-sgemm-nn-nvidia-h200-vectors"


def test_a_row_is_a_measurement_with_units_in_the_names(make: Make) -> None:
    frame = to_frame([make(id=7, observed=(("energy_joules", 0.5),))])

    assert frame.index.tolist() == [7]
    assert frame.loc[7].to_dict() == {
        "trial": 3,
        "phase": "search",
        "status": "ok",
        "m": 4,
        "n": 5,
        "k": 6,
        "batch": 1,
        "seconds_median": 0.1,
        "gflops": pytest.approx(make().gflops),
        "samples": 3,
        "max_error": 1e-7,
        "error_bound": 1e-5,
        "compile_seconds": 0.25,
        "compile_cached": True,
        "family": "tiled",
        "kernel": "Cij_Aik_Bkj_SB_MT64x64x8",
        "message": "",
        "timestamp": pd.Timestamp("2026-11-20T12:00:00Z"),
        "energy_joules": 0.5,
        "depth_u": 8,
        "multiply_add": "fma",
    }


def test_what_a_row_lacks_is_empty_and_numbers_stay_numbers(make: Make) -> None:
    rows = [
        make(id=1),
        make(id=2, status=Status.TIMEOUT, compile_seconds=None, max_error=None, timestamp=""),
        make(id=3, config=Config.of({"rows": 2, "kernel": 4}), observed=(("watts", 300.0),)),
    ]
    frame = to_frame(rows)

    assert frame["seconds_median"].isna().tolist() == [False, True, False]
    assert frame["gflops"].dtype == frame["compile_seconds"].dtype == "float64"
    assert frame["watts"].isna().tolist() == [True, True, False]
    assert frame["timestamp"].isna().tolist() == [False, True, False]
    assert frame["depth_u"].dropna().tolist() == [8, 8]
    assert str(frame["depth_u"].dtype) == str(frame["rows"].dtype) == "Int64"
    assert frame["config_kernel"].dropna().tolist() == [4]
    assert frame["kernel"].nunique() == 1
    assert frame[frame["status"] == "ok"].groupby("family")["gflops"].max().gt(0).all()


def test_no_measurements_are_an_empty_table_with_the_same_columns(make: Make) -> None:
    empty, full = to_frame([]), to_frame([make(id=1)])

    assert len(empty) == 0
    assert list(empty) == [name for name in full if name in set(empty)]
    assert "seconds_median" in empty


def test_the_columns_of_an_empty_table_have_the_usual_types(make: Make) -> None:
    empty, usual = to_frame([]), to_frame([make()])

    names = [name for name in empty if name not in ("compile_cached", "timestamp")]
    assert {name: empty[name].dtype for name in names} == {
        name: usual[name].dtype for name in names
    }
    assert list(empty[empty["phase"].str.startswith("final")]["message"].str.len()) == []


def test_a_shipped_run_gives_its_measurements() -> None:
    with Run.open(SHIPPED) as run:
        frame, rows = run.to_frame(), run.store.measurements()

    assert frame.index.tolist() == [row.id for row in rows]
    assert frame["seconds_median"].dropna().tolist() == [r.median for r in rows if r.median]
    assert set(frame) >= {name for row in rows for name in row.config}


@pytest.mark.long
def test_pandas_is_loaded_for_its_users_only() -> None:
    code = "import sys, mltune.run.run; sys.exit('pandas' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
