from __future__ import annotations

import math
import statistics

from mltune.record.measurement import Status
from mltune.search import SEARCHERS
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space

# 3 % of all combinations are feasible, and the best one lies on the border.
NARROW = Space(
    name="narrow",
    family="none",
    parameters=[Parameter(name, (1, 2, 4, 8, 16, 32)) for name in "abcd"]
    + [Parameter("word", ("x", "y", "z")), Parameter("flag", (0, 1)), Parameter("fixed", (7,))],
    constraints=[Constraint("product", "a * b == c * d"), Constraint("size", "a * b >= 64")],
    limits={},
)


def seconds(config: Config) -> float:
    targets = zip("abcd", (5, 2, 4, 3), strict=True)
    squares = sum((math.log2(config.int(name)) - target) ** 2 for name, target in targets)
    return 1 + squares + 2 * (config["word"] != "y") + config.int("flag")


def best_of(name: str, seed: int, budget: int) -> float:
    searcher = SEARCHERS[name](NARROW, seed)
    values = []
    for _ in range(budget):
        config = searcher.ask()
        assert config is not None
        assert config in NARROW
        values.append(seconds(config))
        searcher.tell(config, values[-1], Status.OK)
    return min(values)


def test_finds_better_configs_than_chance() -> None:
    best = {
        name: statistics.mean(best_of(name, seed, 40) for seed in range(4)) for name in SEARCHERS
    }

    assert best["tpe"] < best["random"]
    assert best["tpe"] < 2.5
