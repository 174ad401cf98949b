"""Where the time of processes that share one search goes, without any device.

    python -m tests.benchmarks.shared_pace --workers 1,4 --budget 280 --pause 0.15 --build 1

Forks simulated workers for each line: the whole session on an SQLite file, with the guided
sampler in a space of the family tiled, as a GPU would use it. A measurement sleeps and so does a
build; how fast a config is says a formula. Columns after the rate are seconds of one worker, on
the average, between its first measurement and its last: the main thread waits for a proposal,
for a build, for the database, or measures. What the sampler computes takes processors, of which
there should be two for each worker.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Precision, Problem, Size, gemm
from mltune.run.registry import begin_study
from mltune.run.run_info import RunInfo, Timing
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store
from mltune.space.config import Config
from mltune.space.space import Space
from mltune.tuning.background import BackgroundSampler
from mltune.tuning.recorder import WriteBehind
from mltune.tuning.shared_tuning import SharedTuning
from mltune.tuning.sharing import joined
from mltune.workflow.chosen_spaces import bound_space
from mltune.workflow.run_setup import new_study
from tests import devices, simulated

_SPACES = Path(__file__).parents[2] / "spaces"
_STEPS = ("ask", "build", "measure", "database")
_COLUMNS = ("workers", "trials", "seconds", "trials/min", "of one", "best", *_STEPS, "CPU")


class Clock:
    """Adds up what the calls of an object take that it stands before."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[step] += time.monotonic() - began

    def around(self, step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            with self.of(step):
                return call(*given, **named)

        return timed


class SleepingRunner:
    """A device with builders, all of which sleep; a `Runner`."""

    def __init__(self, space: Space, options: argparse.Namespace, clock: Clock) -> None:
        self._speeds = _speeds(space)
        self._options = options
        self._clock = clock
        self._builders = ThreadPoolExecutor(options.builders)
        self._built: dict[Config, Future[None]] = {}

    @property
    def device(self) -> DeviceInfo:
        return devices.GPU

    @property
    def ahead(self) -> int:
        return int(self._options.builders)

    def prepare(self, problem: Problem, config: Config) -> None:
        self._built[config] = self._builders.submit(time.sleep, self._options.build)

    def expect(self, problem: Problem) -> None:
        """Its numbers take no time."""

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        with self._clock.of("build"):
            builds = [self._built.get(config) for config in configs]
            if None not in builds:
                wait([one for one in builds if one], return_when="FIRST_COMPLETED")
            return next(n for n, one in enumerate(builds) if one is None or one.done())

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        with self._clock.of("measure"):
            time.sleep(self._options.pause / self._options.sizes)
        seconds = problem.flops * 1e-13 * math.exp(self._speeds(config))
        return Measurement(
            problem=problem,
            config=config,
            family="tiled",
            kernel=f"K{config.id}",
            source_hash=config.id,
            build_options=(),
            device=self.device.name,
            driver=self.device.driver_version,
            uuid=self.device.uuid,
            status=Status.OK,
            seconds=(seconds,) * 7,
            max_error=1e-7,
            error_bound=1e-5,
            compile_seconds=self._options.build,
            timestamp=f"{time.monotonic()}",
        )

    def close(self) -> None:
        self._builders.shutdown()


def main() -> int:
    """Print a line for each number of workers."""
    options = _options()
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|")
    alone = None
    for workers in options.workers:
        seconds, best, spent = _search(workers, options)
        rate = 60 * options.budget / seconds
        alone = alone or rate
        cells = [f"{seconds:.1f}", f"{rate:.0f}", f"{rate / alone:.2f}", f"{best:.3f}"]
        cells += [f"{spent.get(step, 0.0) / workers:.1f}" for step in (*_STEPS, "CPU")]
        print(f"| {workers} | {options.budget} | {' | '.join(cells)} |", flush=True)
    return 0


def _search(workers: int, options: argparse.Namespace) -> tuple[float, float, dict[str, float]]:
    """Run one study; its seconds, the best value and what all workers' time went to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/study.db"
        info = _info(options)
        with Store(url, run=info.id) as store:
            begin_study(store, info)
        space = bound_space(info)

        def work(number: int) -> None:
            clock = Clock()
            study = new_study(info, space, options.seed + number, print)
            with (
                Store(url, run=info.id) as store,
                joined(info, store, f"simulated {number}") as shared,
            ):
                _time(shared, clock)
                runner = SleepingRunner(space, options, clock)
                used = time.process_time()
                ignore = simulated.ignore
                SharedTuning(info, store, shared, runner, study, ignore, ignore).work()
                clock.seconds["CPU"] = time.process_time() - used
                runner.close()
            (folder / f"{number}.json").write_text(json.dumps(clock.seconds))

        numbers = [simulated.fork(partial(work, number)) for number in range(workers)]
        if sum(not simulated.ended_well(number) for number in numbers):
            sys.exit("a worker failed")
        spent: dict[str, float] = defaultdict(float)
        for path in folder.glob("*.json"):
            for step, seconds in json.loads(path.read_text()).items():
                spent[step] += seconds
        with Store(url, run=info.id) as store:
            rows = store.measurements(Phase.SEARCH)
    times = [float(row.timestamp) for row in rows]
    best = min(math.log(1e13 * row.seconds[0] / row.problem.flops) for row in rows)
    return max(times) - min(times), best, spent


def _time(shared: SharedTrials, clock: Clock) -> None:
    """Have the calls timed that the loop makes in its main thread, in a process of its own."""
    for name in ("claim", "finish", "news", "take_up"):
        setattr(shared, name, clock.around("database", getattr(shared, name)))
    for name in ("add", "flush"):
        setattr(WriteBehind, name, clock.around("database", getattr(WriteBehind, name)))
    ask = clock.around("ask", BackgroundSampler.ask)
    BackgroundSampler.ask = ask  # type: ignore[method-assign]


def _speeds(space: Space) -> Callable[[Config], float]:
    """A formula for the log of a config's time: each value and some pairs of values count."""
    chance = random.Random(0)
    alone = {
        p.name: {value: chance.gauss(0, 0.25) for value in p.values} for p in space.parameters
    }
    names = [parameter.name for parameter in space.parameters]
    pairs = [tuple(chance.sample(names, 2)) for _ in names]
    return lambda config: (
        sum(alone[name][value] for name, value in config.items())
        + sum(
            0.3 * random.Random(f"{one}{config[one]}{two}{config[two]}").gauss(0, 1)
            for one, two in pairs
        )
    )


def _info(options: argparse.Namespace) -> RunInfo:
    return RunInfo(
        mltune_version="0",
        command=("shared_pace",),
        contraction=gemm(Precision.SINGLE),
        sizes=tuple(Size((256 * size,) * 3) for size in range(1, 1 + options.sizes)),
        space=options.space,
        space_text=(_SPACES / f"{options.space}.yaml").read_text(),
        family="tiled",
        device=devices.GPU,
        seed=options.seed,
        budget=options.budget,
        sampler="guided",
        timing=Timing(warmups=2, samples=7, build_timeout_seconds=60.0, run_timeout_seconds=30.0),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--workers", type=lambda words: [int(word) for word in words.split(",")], default=[1, 4]
    )
    parser.add_argument("--budget", type=int, default=280, help="trials of each study")
    parser.add_argument("--sizes", type=int, default=3)
    parser.add_argument("--space", default="tiled-nvidia", help="of the family tiled")
    parser.add_argument("--pause", type=float, default=0.15, help="seconds of a trial's launches")
    parser.add_argument("--build", type=float, default=1.0, help="seconds of a build")
    parser.add_argument("--builders", type=int, default=8, help="of each worker")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
