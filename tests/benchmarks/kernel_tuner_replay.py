"""Run strategies of Kernel Tuner on a cache file in its simulation mode.

Started by `search_replay.py` with a Python that has Kernel Tuner; needs nothing of mltune.
Prints one JSON line a seed: the time of every unique evaluation in order, null for a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import random
import sys
import warnings
from typing import Any


def histories(cache: str, strategy: str, seed: int, budget: int) -> list[float | None]:
    """Return the times in milliseconds of the first `budget` distinct configs."""
    import numpy as np

    tune_cache = importlib.import_module("kernel_tuner.interface").tune_cache

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the strategies use the global generator)
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = tune_cache(
            cache,
            strategy=strategy,
            strategy_options={"max_fevals": budget},
            quiet=True,
        )
    names = json.load(open(cache, encoding="utf-8"))["tune_params_keys"]  # noqa: SIM115, PTH123
    times: dict[tuple[Any, ...], float | None] = {}
    for row in results:
        time = row.get("time") if row else None
        key = tuple(row[name] for name in names) if row else None
        if key is not None and key not in times:
            times[key] = float(time) if isinstance(time, (int, float)) else None
    return list(times.values())[:budget]


def main() -> None:
    """Print a line for every seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache")
    parser.add_argument("strategy")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--budget", type=int, default=500)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(args.seeds):
        row = histories(args.cache, args.strategy, seed, args.budget)
        print(json.dumps(row), flush=True)
        print(f"{args.strategy} seed {seed}: {len(row)} evaluations", file=sys.stderr)


if __name__ == "__main__":
    main()
