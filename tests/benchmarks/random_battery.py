"""Are kernels right on a device? Random problems on random kernels, each result checked in full.

    python -m tests.benchmarks.random_battery --device gpu --precisions shd --problems 2000
    python -m tests.benchmarks.random_battery --device gpu --compute tf32 --families mma,wgmma

For each precision, all families that write it take turns; a kernel's config is drawn as in
`tests/contract/test_kernel_family.py` or from a space that suits the device, and computes a few
problems: transposes, both orders, batches, sizes with remainders, gaps, offsets, alpha and beta.
Every element of C is held against a float64 reference. Several workers share the device. Prints
a row for each precision and family, and ends with 1 if a result was wrong or a kernel that was
built did not come to an end. Configs of the tests may not build where a device has less local
memory or registers than they take; each such line is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from mltune.device import choose
from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError
from mltune.kernel import Kernel, KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.kernel.needs import lacks
from mltune.kernel.space_file import load_space
from mltune.measurement import Status
from mltune.problem import COMPUTE_TYPES, Contraction, Precision, parse_compute_type
from mltune.resources import data_folder
from mltune.runner import WorkerRunner
from mltune.space.names import outside_names
from mltune.space.space import Space
from tests.contract.test_kernel_family import PRECISIONS, random_config
from tests.plain_mma import PlainMmaFamily
from tests.plain_wgmma import PlainWgmmaFamily
from tests.random_problems import random_gemm, random_sizes

PLAIN: dict[str, KernelFamily] = {"mma": PlainMmaFamily(), "wgmma": PlainWgmmaFamily()}
LETTERS = {precision.letter: precision for precision in Precision}
Key = tuple[str, str]
"""A precision's letter and a family."""


class Battery:
    """The problems that are left, and the results of the others."""

    def __init__(self, wanted: dict[Key, int], end: float) -> None:
        self.seen: dict[Key, Counter[str]] = {key: Counter() for key in wanted}
        self.said: list[str] = []
        self._wanted, self._end = wanted, end
        self._drawn: Counter[Key] = Counter()
        self._lock = threading.Lock()

    def draw(self) -> tuple[Key, int] | None:
        """Return the next problem type to draw a kernel for, and its number; None at the end."""
        with self._lock:
            left = {
                key: wanted - sum(self.seen[key][each] for each in ("right", "wrong"))
                for key, wanted in self._wanted.items()
            }
            key = max(left, key=lambda each: left[each] / self._wanted[each])
            if left[key] <= 0 or time.monotonic() > self._end:
                return None
            self._drawn[key] += 1
            return key, self._drawn[key]

    def note(self, key: Key, outcome: str, line: str = "") -> None:
        """Count the result of a problem or a kernel."""
        with self._lock:
            self.seen[key][outcome] += 1
            if line:
                self.said.append(line)
                print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Compute, compare, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--precisions", default="shd")
    parser.add_argument("--compute", choices=COMPUTE_TYPES, help="of single precision alone")
    parser.add_argument("--problems", type=int, default=2000, help="of each precision")
    parser.add_argument("--each", type=int, default=16, help="problems of a kernel")
    parser.add_argument("--most", type=int, default=400, help="rows, columns and terms")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=600)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--plain", action="store_true", help="instructions written in OpenCL C")
    options = parser.parse_args()
    families: dict[str, KernelFamily] = {**FAMILIES, **(PLAIN if options.plain else {})}
    names = options.families.split(",")
    wanted: dict[Key, int] = {}
    for letter in "s" if options.compute else options.precisions:
        able = [name for name in names if LETTERS[letter] in PRECISIONS[name]]
        wanted |= {(letter, name): -(-options.problems // len(able)) for name in able}
    info = choose(options.device).info
    battery = Battery(wanted, time.monotonic() + options.time_limit)
    workers = [
        threading.Thread(target=_work, args=(battery, families, info, options))
        for _ in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    compute = f", compute type {options.compute}" if options.compute else ""
    print(f"{info.name}, driver {info.driver_version}, seed {options.seed}{compute}\n")
    columns = ("right", "wrong", "failed", "not built", "kernels")
    print(f"| precision | family | {' | '.join(columns)} |\n{'|---' * (2 + len(columns))}|")
    for (letter, name), seen in battery.seen.items():
        counts = " | ".join(str(seen[each]) for each in columns)
        print(f"| {letter} | {name} | {counts} |")
    return 1 if any(seen["wrong"] + seen["failed"] for seen in battery.seen.values()) else 0


def _work(
    battery: Battery,
    families: dict[str, KernelFamily],
    info: DeviceInfo,
    options: argparse.Namespace,
) -> None:
    """Compute one worker's share."""
    with WorkerRunner(options.device, FAMILIES["tiled"], samples=1) as runner:
        while (drawn := battery.draw()) is not None:
            (letter, name), number = drawn
            rng = random.Random(f"{options.seed} {letter} {name} {number}")
            types = random_gemm(rng, LETTERS[letter])
            if options.compute:
                compute = parse_compute_type(options.compute)
                types = tuple(replace(each, compute=compute) for each in types)
            kernel = _kernel(rng, families[name], types, info)
            if kernel is None or (lacks(kernel, info) and not options.plain):
                continue
            battery.note(drawn[0], "kernels")
            _compute(battery, drawn[0], runner, rng, types, kernel, options)


def _kernel(
    rng: random.Random, family: KernelFamily, types: Sequence[Contraction], info: DeviceInfo
) -> Kernel | None:
    """Return a kernel of a random config, or of a config of a space that suits the device."""
    try:
        if rng.random() < 0.5:
            names = outside_names(info, types[0])
            draw = np.random.default_rng(rng.getrandbits(32))
            configs = rng.choice(_spaces(family.name, *names.items())).sample(draw, 1)
            if configs:
                return family.generate(types[0], configs[0])
        return family.generate(types[0], random_config(rng, family.name, types[0]))
    except MltuneError:
        return None


@cache
def _spaces(family: str, *names: tuple[str, int]) -> list[Space]:
    """The shipped spaces of a family, bound to the device and the problem type."""
    spaces = map(load_space, sorted(data_folder("spaces").glob("*.yaml")))
    return [space.bind(dict(names)) for space in spaces if space.family == family]


def _compute(
    battery: Battery,
    key: Key,
    runner: WorkerRunner,
    rng: random.Random,
    types: Sequence[Contraction],
    kernel: Kernel,
    options: argparse.Namespace,
) -> None:
    depth = dict(kernel.config.items_).get("depth_u", 8)
    tile = (*kernel.macro_tile, int(depth))
    for _ in range(options.each):
        problem = random_sizes(rng, rng.choice(types), tile, options.most)
        measurement = runner.run_kernel(problem, kernel)
        where = f"{kernel.name} {problem.size} {measurement.status}: {measurement.message}"
        if measurement.status is Status.OK:
            battery.note(key, "right")
        elif measurement.status is Status.INVALID:
            battery.note(key, "refused")  # such as one that takes multiples only
        elif measurement.status is Status.WRONG_RESULT:
            battery.note(key, "wrong", where)
        else:
            built = measurement.status is not Status.BUILD_ERROR
            battery.note(key, "failed" if built else "not built", where)
            return


if __name__ == "__main__":
    sys.exit(main())
