"""Time the proposals of a guided search in the union of all spaces, and its memory.

    python -m tests.benchmarks.union_proposals [--trials 120] [--first 64] [--priors]

There is no device: made-up times answer, each space's with a level of its own. It prints the
seconds of processor time that a proposal took, by the number of trials before, and the most memory
that the process had.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mltune.problem import Contraction, parse_problem_type, problem_of_size
from mltune.problem.sizes import parse_sizes
from mltune.run.run_info import SearchedSpace
from mltune.search.make import make_sampler
from mltune.space.config import Config
from mltune.space.union import UnionSpace
from mltune.workflow.chosen_spaces import choose_spaces
from mltune.workflow.shipped_priors import SHIPPED, _for_space, read_shipped
from tests import devices
from tests.studies import Asked

HOPPER = replace(devices.GPU, compute_capability=90)


def made_up(config: Config, flops: np.ndarray) -> np.ndarray:
    """Return simulated seconds by size: of the family, of each value, and noise."""
    level = 0.3 * (zlib.crc32(str(config["family"]).encode()) % 5)
    parts = [
        0.5 * (zlib.crc32(f"{name} {value}".encode()) % 1000) / 1000
        for name, value in config.items()
    ]
    luck = np.random.default_rng(int(config.id, 16)).normal(0, 0.1, len(flops))
    start = 2e-6
    return start + flops / 6e13 * np.exp(level + math.fsum(parts) / math.sqrt(len(parts)) + luck)


def main() -> None:
    """Search, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--sizes", default="models")
    parser.add_argument("--first", type=int, default=64, help="of the sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--priors", action="store_true", help="begin with those that ship")
    options = parser.parse_args()
    contraction = parse_problem_type("sgemm_nn")
    sizes = parse_sizes(options.sizes)[: options.first]
    problems = [problem_of_size(contraction, size.extents) for size in sizes]
    flops = np.array([problem.flops for problem in problems], dtype=np.float64)
    spaces = choose_spaces(("auto",), HOPPER, contraction)
    space = UnionSpace("auto", tuple(spaces.values()))
    print(f"{len(sizes)} sizes, {len(space.members)} spaces of {space.family}: {_memory()} MB")
    began = time.process_time()
    names = _names(spaces, contraction) if options.priors else ()
    known = [prior for prior in map(read_shipped, names) if prior is not None]
    sampler = make_sampler(
        "guided",
        space,
        options.seed,
        priors=known,
        counts=[1] * len(sizes),
        problems=problems,
    )
    print(f"made in {time.process_time() - began:.2f} s: {_memory()} MB")
    asked = Asked(sampler, len(sizes))
    took: list[float] = []
    seen: Counter[str] = Counter()
    for _ in range(options.trials):
        began = time.process_time()
        proposal = asked.ask()
        took.append(time.process_time() - began)
        assert proposal is not None
        seen[next(each.name for each in space.members if proposal.config in each)] += 1
        seconds = made_up(proposal.config, flops)
        asked.tell(proposal, {size: float(seconds[size]) for size in asked.sizes(proposal)})
    for first in range(0, options.trials, 50):
        part = np.array(took[first : first + 50]) * 1e3
        median, most = np.median(part), np.quantile(part, 0.9)
        print(f"{first:4d}: median {median:6.1f} ms, nine of ten {most:6.1f} ms")
    print(f"all: median {np.median(took) * 1e3:.1f} ms, mean {np.mean(took) * 1e3:.1f} ms")
    print(f"{_memory()} MB at most; trials: {dict(seen)}")


def _names(spaces: Iterable[SearchedSpace], contraction: Contraction) -> list[str]:
    found = (SHIPPED + name for each in spaces for name in _for_space(each, contraction, HOPPER))
    return [*dict.fromkeys(found)]


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
