"""Measure what another GPU's rows are worth to a cost model, on recorded GEMM spaces.

    python tests/benchmarks/device_transfer.py FILE FILE... --seeds 4

Each file is Kernel Tuner's cache of CLBlast's Xgemm at 4096 x 4096 x 4096 on one of `GPUS`. A
model gets a few random rows of one GPU, alone, and beside 2,000 random rows of another, and
predicts all configs of the first that it was not given. Prints means over the seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mltune.cost_model import OtherDevice, Scores, fit
from mltune.cost_model.scores import score
from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.workflow.recordings import read_any
from tests.devices import GPU

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 4096, 4096, 4096)
COUNTS = (10, 25, 50, 100, 400)
OTHERS_ROWS = 2000
GPUS = {  # compute units and MHz, as their maker states them
    "NVIDIA GeForce RTX 2080 Ti": (68, 1545),
    "NVIDIA GeForce RTX 3060 Laptop GPU": (30, 1425),
}


def device_named(name: str) -> DeviceInfo:
    """Return a GPU's description, as far as the cost model uses it."""
    units, clock_mhz = GPUS[name]
    return replace(GPU, name=name, uuid="", compute_units=units, clock_mhz=clock_mhz)


def read(file: Path) -> OtherDevice:
    """Read a cache file as measurements of its device."""
    recording = read_any(file)
    device = device_named(recording.device)
    rows = [
        Measurement(
            problem=PROBLEM,
            config=point.config,
            family="clblast",
            kernel=point.config.id,
            source_hash="",
            build_options=(),
            device=device.name,
            driver=device.driver_version,
            uuid="",
            status=Status.OK,
            seconds=(point.seconds,),
        )
        for point in recording.points
        if point.seconds is not None
    ]
    return OtherDevice(device, rows)


def scored(
    target: OtherDevice, count: int, others: Sequence[OtherDevice], rng: np.random.Generator
) -> Scores:
    """Train with some rows of a device, and score on its others."""
    order = rng.permutation(len(target.rows))
    own, rest = ([target.rows[number] for number in part] for part in np.split(order, [count]))
    some = [
        OtherDevice(
            other.device,
            [other.rows[number] for number in rng.permutation(len(other.rows))[:OTHERS_ROWS]],
        )
        for other in others
    ]
    model = fit(own, target.device, others=some, folds=0)
    predicted = model.predict(PROBLEM, [row.config for row in rest])
    measured = np.log([row.seconds[0] for row in rest])
    return score(np.zeros(len(rest), dtype=np.intp), predicted, measured)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    devices = [read(file) for file in options.files]
    print("| GPU | its rows | beside | error of log time | rank correlation | top-1 | top-5 |")
    print("|---|---|---|---|---|---|---|")
    for target in devices:
        for count in COUNTS:
            for other in (None, *(device for device in devices if device is not target)):
                found = [
                    scored(target, count, [other] if other else [], np.random.default_rng(seed))
                    for seed in range(options.seeds)
                ]
                fields = ("rmse_log", "spearman", "top_1", "top_5")
                means = [np.mean([getattr(one, field) for one in found]) for field in fields]
                cells = " | ".join(f"{mean:.3f}" for mean in means)
                beside = other.device.name if other else "-"
                print(f"| {target.device.name} | {count} | {beside} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
