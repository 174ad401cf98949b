"""Write the suites `spread` and `spread-cpu`: sizes by design, of which a decision tree can learn.

    python tests/benchmarks/spread_sizes.py > spaces/sizes/spread.csv
    python tests/benchmarks/spread_sizes.py --cpu > spaces/sizes/spread-cpu.csv

Those for a CPU are smaller, and more. Six families, each drawn with its own share of the seed's
numbers: log-uniform sides, squares, skinny shapes, long sums, remainders, and multiples of 64 with
their neighbours.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SEED = 2026


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of the sizes.

    Attributes:
        most_elements: of the three matrices together.
        share: of the families' counts that is drawn.
    """

    most_flops: float
    most_elements: float
    share: float


GPU = Bounds(most_flops=1.4e11, most_elements=5e7, share=1.0)  # 4096 cubed
CPU = Bounds(most_flops=2.7e8, most_elements=2e6, share=1.3)  # 512 cubed


Size = tuple[int, int, int]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def random_shapes(rng: np.random.Generator) -> Size:
    return log_uniform(rng, 8, 4096), log_uniform(rng, 8, 4096), log_uniform(rng, 8, 4096)


def squares(rng: np.random.Generator) -> Size:
    side = log_uniform(rng, 32, 4096)
    side = side if rng.random() < 0.5 else max(32, side // 32 * 32)
    return side, side, side


def skinny(rng: np.random.Generator) -> Size:
    short, long, terms = (
        log_uniform(rng, 1, 64),
        log_uniform(rng, 256, 8192),
        log_uniform(rng, 64, 4096),
    )
    return (short, long, terms) if rng.random() < 0.5 else (long, short, terms)


def long_sums(rng: np.random.Generator) -> Size:
    return log_uniform(rng, 8, 512), log_uniform(rng, 8, 512), log_uniform(rng, 2048, 65536)


def remainders(rng: np.random.Generator) -> Size:
    sides = [int(rng.integers(1, 32)) * 64 + int(rng.integers(1, 64)) for _ in range(2)]
    return sides[0], sides[1], log_uniform(rng, 32, 2048)


def multiples(rng: np.random.Generator) -> Size:
    m, n, k = (
        max(1, int(2 ** rng.integers(0, 6)) * 64 + int(rng.choice((-1, 0, 0, 1))))
        for _ in range(3)
    )
    return m, n, k


FAMILIES = (
    (random_shapes, 110),
    (squares, 34),
    (skinny, 60),
    (long_sums, 36),
    (remainders, 36),
    (multiples, 44),
)


def suite(bounds: Bounds) -> Iterator[tuple[str, list[Size]]]:
    """Return each family's name and its sizes, none of them twice."""
    seen: set[Size] = set()
    for number, (family, count) in enumerate(FAMILIES):
        rng = np.random.default_rng([SEED, number])
        drawn: list[Size] = []
        while len(drawn) < round(count * bounds.share):
            m, n, k = size = family(rng)
            elements = m * n + m * k + n * k
            fits = 2.0 * m * n * k <= bounds.most_flops and elements <= bounds.most_elements
            if fits and size not in seen:
                seen.add(size)
                drawn.append(size)
        yield family.__name__.replace("_", " "), sorted(drawn)


def main() -> None:
    """Print the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", action="store_true", help="the sizes for a CPU")
    is_cpu = parser.parse_args().cpu
    families = list(suite(CPU if is_cpu else GPU))
    count = sum(len(sizes) for _, sizes in families)
    command = "tests/benchmarks/spread_sizes.py" + " --cpu" * is_cpu
    print(f"# {count} sizes by design, written by {command}.")
    print("m,n,k")
    for name, sizes in families:
        print(f"# {name}")
        for size in sizes:
            print(",".join(map(str, size)))


if __name__ == "__main__":
    main()
