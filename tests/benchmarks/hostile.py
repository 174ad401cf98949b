"""The hostile battery: a search with a kernel of every bad kind planted among healthy ones.

    python tests/benchmarks/hostile.py [--trials 60] [--builders N] [--device D] [--json]

It searches the healthy configs alone, then the same ones with all faults planted, while somebody
kills the worker now and then. It prints a table, and fails unless every planted kernel got its
right status, no healthy one was blamed, and the winner cannot be told from the one found without.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import optuna

from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space
from mltune.measurement import Measurement, Status
from mltune.problem import Contraction, Size, gemm
from mltune.problem.precision import Precision
from mltune.resources import data_folder
from mltune.run.run import Run
from mltune.run.run_info import RunInfo, Timing
from mltune.runner import WorkerRunner
from mltune.search.sampler import ConfigSampler
from mltune.space import Config
from mltune.space.config import Value
from mltune.space.names import outside_names
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.tuning.final_selection import Choice, choose
from mltune.tuning.local_tuning import LocalTuning
from mltune.tuning.study import TuningStudy

_SOURCE = """
%(top)s
__kernel void %(name)s(
    __global float *c, __global const float *a, __global const float *b,
    float alpha, float beta, uint size_i, uint size_j, uint size_l,
    ulong offset_c, ulong ld_c, ulong batch_stride_c,
    ulong offset_a, ulong ld_a, ulong batch_stride_a,
    ulong offset_b, ulong ld_b, ulong batch_stride_b%(more)s)
{
    const ulong i = get_global_id(0), j = get_global_id(1);
    /* %(salt)s */
    %(before)s
    if (i >= size_i || j >= size_j) return;
    float sum = 0;
    for (ulong l = 0; l < size_l; ++l)
        sum += a[offset_a + l * ld_a + i] * b[offset_b + j * ld_b + l];
    %(after)s
    __global float *out = c + offset_c + j * ld_c + i;
    *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
}
"""
_TRAP = """
#ifdef __NV_CL_C_VERSION
#define TRAP asm volatile("trap;")
#else
#define TRAP __asm__ volatile("ud2")
#endif
"""
_LONG = "float x = alpha;\n" + "x = sin(x) + cos(x * 3) * tan(x);\n" * 20000 + "c[0] = x;"
_PRIVATE = (
    "volatile float big[4000000]; for (int n = 0; n < 4000000; ++n) big[n] = n; c[0] = big[i];"
)

FAULTS: dict[str, tuple[str, str, str, tuple[Status, ...]]] = {
    "clock_that_stands_still": ("", "", "", (Status.LAUNCH_ERROR,)),
    "endless_loop": ("", "while (1) { c[0] = beta; }", "", (Status.TIMEOUT,)),
    "write_far_outside": ("", "c[1000000000000ul + i] = 0;", "", (Status.CRASHED,)),
    "write_just_after_C": (
        "", "", "c[offset_c + ld_c * size_j + 5] = 1;", (Status.WRONG_RESULT,)),
    "write_just_before_C": (
        "", "if (i == 0 && j == 0) c[-7] = 1;", "", (Status.WRONG_RESULT,)),
    "write_to_an_input": (
        "", "if (i == 0 && j == 0) ((__global int *)a)[0] = 1;", "", (Status.WRONG_RESULT,)),
    "trap": (_TRAP, "if (i == 3) { TRAP; }", "", (Status.CRASHED,)),
    "one_element_of_the_last_tile": (
        "", "", "if (i == size_i - 1 && j == size_j - 1) sum *= 1.001f;", (Status.WRONG_RESULT,)),
    "right_on_zeros_only": ("", "", "sum = 2 * sum;", (Status.WRONG_RESULT,)),
    "result_is_NaN": ("", "", "sum = NAN;", (Status.WRONG_RESULT,)),
    "reads C though beta = 0": (
        "", "", "sum += 0 * c[offset_c + j * ld_c + i];", (Status.WRONG_RESULT,)),
    "does_not_build": ("", "this is no C;", "", (Status.BUILD_ERROR,)),
    "takes_minutes_to_build": ("", _LONG, "", (Status.TIMEOUT,)),
    "kills_the_compiler": (
        "#pragma clang __debug crash", "", "", (Status.CRASHED, Status.BUILD_ERROR)),
    "local_memory_over_the_limit": (
        "", "__local float big[60000000]; big[i] = i; c[0] = big[i / 2];", "",
        (Status.LAUNCH_ERROR, Status.BUILD_ERROR)),
    "private_memory_of_16_MB": (
        "", _PRIVATE, "",
        (Status.CRASHED, Status.LAUNCH_ERROR, Status.BUILD_ERROR, Status.TIMEOUT)),
    "work_group_over_the_limit": ("", "", "", (Status.LAUNCH_ERROR,)),
    "more_buffers_than_there_are": ("", "", "", (Status.LAUNCH_ERROR,)),
}  # fmt: skip
"""What to write above, before and after the sum, and the statuses that are right."""


class PlantedFamily:
    """The tiled kernels, and kernels with one of the faults."""

    name = "planted"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write a healthy kernel, or a hostile one for a config that names a fault."""
        if "fault" not in config:
            return FAMILIES["tiled"].generate(contraction, config)
        fault = config.word("fault")
        top, before, after, _ = FAULTS[fault]
        name = "hostile_" + "".join(c if c.isalnum() else "_" for c in fault)
        if fault == "clock_that_stands_still":
            name += "_zero_timer"
        group = (128, 64, 1) if fault == "work_group_over_the_limit" else (8, 4, 1)
        # The clock makes the source new, so that no cache of a driver helps it.
        more = ", __global float *more" if fault == "more_buffers_than_there_are" else ""
        values = {
            "name": name, "top": top, "before": before, "after": after, "more": more,
            "salt": time.time_ns(),
        }  # fmt: skip
        return Kernel(
            name=name,
            family=self.name,
            contraction=contraction.canonical(),
            config=config,
            source=_SOURCE % values,
            build_options=(),
            work_group=group,
            macro_tile=group[:2],
        )


class NoSampler(ConfigSampler):
    """Proposes nothing; the study has a list of configs."""

    def __init__(self) -> None:
        # Of a single config no sampler is asked.
        two = [Config.of({"nothing": number}) for number in (0, 1)]
        super().__init__(RecordedSpace("nothing", two))

    def _propose(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> Config | None:
        return None


def study_of(configs: Sequence[Config], sizes: int) -> TuningStudy:
    """Make a study that tries a list of configs in order; their parameters may differ."""
    values: dict[str, dict[Value, None]] = {}
    for config in configs:
        for name, value in config.items():
            values.setdefault(name, {})[value] = None
    parameters = [Parameter(name, tuple(found)) for name, found in values.items()]
    study = optuna.create_study(sampler=NoSampler())
    return TuningStudy(study, sizes, ("planted",), lambda config: "planted", configs, parameters)


class Killer(threading.Thread):
    """Kills the worker at random moments, from another thread."""

    def __init__(self, runner: WorkerRunner, kills: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._runner = runner
        self._left = kills
        self._random = random.Random(seed)
        self.done = 0

    def run(self) -> None:
        """Kill until there were enough kills; a process that has already ended does not count."""
        while self.done < self._left:
            time.sleep(self._random.uniform(0.5, 3))
            pid = self._runner.worker_pid
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGKILL)
                    self.done += 1
                except ProcessLookupError:
                    pass


def healthy_configs(count: int, device: DeviceInfo, seed: int) -> tuple[Config, ...]:
    """Draw tiled kernels."""
    kind = "cpu" if device.kind == "cpu" else "gpu"
    space = load_space(data_folder("spaces") / f"tiled-{kind}.yaml").bind(
        outside_names(device, gemm(Precision.SINGLE))
    )
    # Wide vectors take PoCL tens of seconds to compile: they have no place in a short test.
    drawn = space.sample(np.random.default_rng(seed), 8 * count)
    quick = [c for c in drawn if c.int("vector_width") <= 8 and c.int("thread_tile_0") <= 8]
    return tuple(quick[:count])


def search(
    folder: Path,
    runner: WorkerRunner,
    configs: Sequence[Config],
    sizes: tuple[Size, ...],
    *,
    leaders: bool = True,
) -> tuple[list[Measurement], list[Choice]]:
    """Search a list of configs, with or without the final rounds."""
    info = RunInfo(
        mltune_version="", command=(), contraction=gemm(Precision.SINGLE), sizes=sizes,
        space="planted", space_text="", family="planted", device=runner.device, seed=0,
        budget=len(configs), sampler="list",
        timing=Timing(warmups=2, samples=7, build_timeout_seconds=1, run_timeout_seconds=1),
    )  # fmt: skip
    with Run.create(folder, info) as run:
        study = study_of(configs, len(sizes))
        tuning = LocalTuning(run, runner, study)
        tuning.search(len(configs))
        if leaders:
            tuning.measure_leaders()
        rows = run.store.measurements()
    return rows, list(choose(rows).values())


def main() -> int:
    """Search twice, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--builders", type=int, default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=len(FAULTS), help="only the first N")
    parser.add_argument("--build-timeout", type=float, default=15)
    parser.add_argument("--run-timeout", type=float, default=3)
    parser.add_argument("--any-winner", action="store_true", help="a different winner is no fault")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    began = time.monotonic()
    faults = list(FAULTS)[: args.faults]
    sizes = (Size((64, 64, 64)), Size((100, 60, 200)))

    def runner() -> WorkerRunner:
        return WorkerRunner(
            args.device,
            PlantedFamily(),
            build_timeout_seconds=args.build_timeout,
            run_timeout_seconds=args.run_timeout,
            builders=args.builders,
            worker=(sys.executable, str(Path(__file__).with_name("faulty_worker.py"))),
        )

    with tempfile.TemporaryDirectory() as folder:
        with runner() as one:
            info = one.device
            healthy = healthy_configs(args.trials - len(faults), info, args.seed)
            _, without = search(Path(folder) / "without", one, healthy, sizes)
        planted = [Config.of({"fault": fault}) for fault in faults]
        mixed = [*healthy, *planted]
        random.Random(args.seed).shuffle(mixed)
        with runner() as one:
            killer = Killer(one, args.kills, args.seed)
            killer.start()
            rows, best = search(Path(folder) / "with", one, mixed, sizes)
            killed = killer.done
    outcomes = {}
    for row in rows:
        if "fault" in row.config:
            outcomes[row.config.word("fault")] = row
    blamed = [r for r in rows if "fault" not in r.config and r.status is not Status.OK]
    same = [
        one.best.config in [equal.config for equal in two.equals]
        or two.best.config in [equal.config for equal in one.equals]
        for one, two in zip(without, best, strict=True)
    ]
    right = {f: outcomes[f].status in FAULTS[f][3] for f in faults if f in outcomes}
    is_good = len(right) == len(faults) and all(right.values()) and not blamed
    is_good = is_good and (args.any_winner or all(same))
    report = {
        "device": f"{info.name} ({info.driver_version})",
        "trials": len({row.trial for row in rows}),
        "planted": {
            f: {"status": outcomes[f].status.value, "message": outcomes[f].message[:90]}
            for f in faults
            if f in outcomes
        },
        "healthy_blamed": [f"{row.kernel}: {row.message}" for row in blamed],
        "killed_from_outside": killed,
        "same_winner": same,
        "builders": args.builders,
        "seconds": round(time.monotonic() - began, 1),
        "good": is_good,
    }
    if args.json:
        print(json.dumps(report, indent=2))
        return 0 if is_good else 1
    print(f"| planted, on {report['device']} | status | message |\n|---|---|---|")
    for fault in faults:
        row = outcomes[fault]
        mark = "" if right[fault] else " (WRONG)"
        print(f"| {fault} | {row.status.value}{mark} | {row.message[:90]} |")
    print(f"\n{report['trials']} trials in {report['seconds']} s; healthy configs blamed: "
          f"{len(blamed)}; worker killed from outside: {killed} times; "
          f"same winner: {sum(same)} of {len(same)} sizes")  # fmt: skip
    for line in report["healthy_blamed"]:
        print("BLAMED", line)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
