"""Trials per minute: with builders ahead, with one process, and Kernel Tuner's, same kernels.

    python -m tests.benchmarks.throughput --device gpu --configs 120 --size 1024 --builders 8 15

Each contestant is a process of its own with empty caches of the driver, and measures the same
configs on one size, in the same order, 7 samples or more each, every result checked in full.
Kernel Tuner gets the same sources and launch geometry for its OpenCL backend, 7 iterations, and
the right result as its `answer`; without the package (pip install kernel_tuner) it is left out.
mltune's seconds begin when its worker is ready; Kernel Tuner opens the device within its own. Of
several numbers of builders the first is the one that the others are held against.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mltune.device import choose
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, Problem, Size, gemm, problem_of_size
from mltune.runner import WorkerRunner
from mltune.runner.data import Layout, operands
from mltune.runner.pool import MOST_BUILDERS
from mltune.runner.validation import reference
from mltune.space import Config
from tests.benchmarks.hostile import healthy_configs, search

AHEAD, ALONE, PEER = "builders ahead", "one process", "Kernel Tuner"
_CACHES = ("CUDA_CACHE_PATH", "POCL_CACHE_DIR", "XDG_CACHE_HOME")
_NAME = "tuned"


def main() -> int:
    """Run all contestants one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--configs", type=int, default=120)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--builders", type=int, nargs="+", default=[MOST_BUILDERS])
    parser.add_argument("--without", choices=(ALONE, PEER), nargs="+", default=())
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        print(json.dumps(_compete(options)))
        return 0
    ahead = [f"{count} {AHEAD}" for count in options.builders]
    answers: dict[str, dict[str, Any]] = {}
    for contestant in (*ahead, *(one for one in (ALONE, PEER) if one not in options.without)):
        answer = _run_apart(contestant)
        if answer is None:
            print(f"{contestant}: left out", file=sys.stderr)
        else:
            answers[contestant] = answer
    first = answers[ahead[0]]
    print(
        f"{options.configs} configs of sgemm_nn {'x'.join([str(options.size)] * 3)} on "
        f"{first['device']}, caches empty\n\n"
        f"| contestant | trials | failed | seconds | trials/min | {ahead[0]} / this | measured |\n"
        "|---|---|---|---|---|---|---|"
    )
    for contestant, answer in answers.items():
        rate = 60 * answer["trials"] / answer["seconds"]
        ratio = 60 * first["trials"] / first["seconds"] / rate
        print(
            f"| {contestant} | {answer['trials']} | {answer['failed']} | "
            f"{answer['seconds']:.1f} | {rate:.0f} | {ratio:.2f} | {_percent(answer)} |"
        )
    print("\nmeasured: the share of the builders' busy time in which kernels ran")
    return 0


def _percent(answer: Mapping[str, Any]) -> str:
    share = answer.get("measured_while_building")
    return "" if share is None else f"{share:.0%}"


def _run_apart(contestant: str) -> dict[str, Any] | None:
    """Start a contestant with empty caches; None if it cannot run here."""
    with tempfile.TemporaryDirectory() as caches:
        made = {name: str(Path(caches) / name) for name in _CACHES}
        for folder in made.values():
            Path(folder).mkdir()
        command = [sys.executable, "-m", "tests.benchmarks.throughput", *sys.argv[1:]]
        done = subprocess.run(
            [*command, "--contestant", contestant],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, **made},
        )
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def _compete(options: argparse.Namespace) -> dict[str, Any]:
    info = choose(options.device).info
    configs = healthy_configs(options.configs, info, options.seed)
    size = Size((options.size,) * 3)
    if options.contestant == PEER:
        return _kernel_tuner(options.device, configs, size)
    builders = 0 if options.contestant == ALONE else int(options.contestant.split()[0])
    return _mltune(options.device, info, configs, size, builders)


def _mltune(
    device: str, info: DeviceInfo, configs: Sequence[Config], size: Size, builders: int
) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        WorkerRunner(device, FAMILIES["tiled"], builders=builders) as runner,
    ):
        began = time.monotonic()
        rows, _ = search(Path(folder) / "run", runner, configs, (size,), leaders=False)
        return {
            "device": f"{info.name} ({info.driver_version})",
            "trials": len({row.trial for row in rows}),
            "failed": len({row.trial for row in rows if not row.seconds}),
            "seconds": time.monotonic() - began,
            "measured_while_building": runner.measured_while_building,
        }


def _kernel_tuner(device: str, configs: Sequence[Config], size: Size) -> dict[str, Any]:
    import kernel_tuner  # type: ignore[import-not-found]  # optional, and not typed

    platform_number, device_number = map(int, choose(device).number.split(":"))
    problem = problem_of_size(gemm(Precision.SINGLE), size.extents, 1.0, 0.0)
    kernels = [FAMILIES["tiled"].generate(problem.contraction, config) for config in configs]
    launches = [kernel.launch(problem).grids[0] for kernel in kernels]
    groups = [launch.local_size for launch in launches]

    def source(params: Mapping[str, Any]) -> str:
        kernel = kernels[params["config"]]
        return str(kernel.source).replace(kernel.name, _NAME)

    def work_groups(params: Mapping[str, Any]) -> tuple[int, ...]:
        launch = launches[params["config"]]
        return tuple(
            items // group
            for items, group in zip(launch.global_size, launch.local_size, strict=True)
        )

    def is_right(params: Mapping[str, Any]) -> bool:
        block = tuple(params[f"block_size_{axis}"] for axis in "xyz")
        return bool(block == groups[params["config"]])

    arguments, answer = _arguments(problem, kernels[0])
    began = time.monotonic()
    results, _ = kernel_tuner.tune_kernel(
        _NAME,
        source,
        work_groups,
        arguments,
        {
            "config": list(range(len(kernels))),
            **{
                f"block_size_{axis}": sorted({group[number] for group in groups})
                for number, axis in enumerate("xyz")
            },
        },
        grid_div_x=[],
        grid_div_y=[],
        grid_div_z=[],
        restrictions=is_right,
        answer=answer,
        atol=1e-3,
        lang="OpenCL",
        platform=platform_number,
        device=device_number,
        compiler_options=list(kernels[0].build_options),
        iterations=7,
        quiet=True,
    )
    return {
        "trials": len(results),
        "failed": sum(not isinstance(result["time"], float) for result in results),
        "seconds": time.monotonic() - began,
    }


def _arguments(problem: Problem, kernel: Kernel) -> tuple[list[Any], list[Any]]:
    """Return the arguments that Kernel Tuner passes to every kernel, and the expected C."""
    data = operands(problem, 0)

    def inside(tensor: str) -> np.ndarray[Any, Any]:
        layout = Layout.of(problem, tensor)
        buffer = getattr(data, tensor)
        return np.ascontiguousarray(buffer[layout.guard : buffer.size - layout.guard])

    launch = kernel.launch(problem)
    arguments = [
        inside("c"),
        inside("a"),
        inside("b"),
        np.float32(problem.alpha.real),
        np.float32(problem.beta.real),
        *(np.uint32(value) for value in launch.integers[:3]),
        *(np.uint64(value) for value in launch.integers[3:]),
    ]
    right = reference(problem, data).values.ravel(order="F").astype(np.float32)
    return arguments, [right, *[None] * (len(arguments) - 1)]


if __name__ == "__main__":
    sys.exit(main())
