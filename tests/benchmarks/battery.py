"""Is what a space writes right on a device? Random problems on random configs of a space.

    python -m tests.benchmarks.battery --device nvidia --space spaces/mma-nvidia.yaml

Every result is compared in full with a float64 reference. It ends with exit code 1 and the
kernels' names if one is wrong. Configs that the device cannot build or hold count apart.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

import numpy as np

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space
from mltune.measurement import Status
from mltune.problem import Contraction, Precision
from mltune.runner import WorkerRunner
from mltune.space.names import outside_names
from tests.random_problems import random_contraction, random_gemm, random_sizes, random_strides

_WRONG = {Status.WRONG_RESULT, Status.CRASHED, Status.TIMEOUT}


def main() -> int:
    """Run the battery; print a line per precision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--space", required=True)
    parser.add_argument("--precisions", default="hsdcz")
    parser.add_argument("--configs", type=int, default=20, help="of each precision")
    parser.add_argument("--problems", type=int, default=10, help="of each config")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    loaded = load_space(options.space)
    family = FAMILIES[loaded.family]
    wrong: list[str] = []
    with WorkerRunner(options.device, family) as runner:
        for letter in options.precisions:
            precision = Precision(letter)
            rng = random.Random(f"{options.seed} {letter}")
            try:
                space = loaded.bind(outside_names(runner.device, precision))
            except UsageError as empty:
                print(f"{precision.name.lower()}: {empty}")
                continue
            statuses: Counter[str] = Counter()
            configs = space.sample(np.random.default_rng(options.seed), options.configs)
            for number, config in enumerate(configs):
                general = number % 4 == 3
                types: tuple[Contraction, ...] = random_gemm(rng, precision)
                if general:
                    types = (random_contraction(rng, precision),)
                kernel = family.generate(types[0], config)
                tile = (*kernel.macro_tile, config.int("depth_u"))
                for _ in range(options.problems):
                    problem = (
                        random_strides(rng, types[0], 20_000)
                        if general
                        else random_sizes(rng, rng.choice(types), tile, 300)
                    )
                    measured = runner.run_kernel(problem, kernel)
                    statuses[measured.status.value] += 1
                    if measured.status in _WRONG:
                        wrong.append(f"{kernel.name} {problem}: {measured.message}")
            counts = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
            print(f"{precision.name.lower()}: {counts}", flush=True)
    print("\n".join(wrong) or f"{loaded.name}: nothing is wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
