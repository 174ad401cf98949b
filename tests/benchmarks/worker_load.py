"""How many measurements a second one PostgreSQL takes, and from how many workers.

    python -m tests.benchmarks.worker_load --workers 1,2,4,8,16,50,100,200 --seconds 20

Starts a PostgreSQL of its own (Debian's `postgresql`; with --flush it flushes every commit to the
disk, as one in use does), and forks that many simulated workers for each line: the whole session
with leases, claims and answers to a sampler, on replayed measurements that take --pause seconds.
Latency is that of one call of the queue: of a claim (one a trial), of measurements added in one
transaction (all that wait then) and of a finished trial. What processors are used for a trial
hardly depends on other work on the machine, rate and latency do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mltune.measurement import Measurement, Status
from mltune.run.shared_trials import SharedTrials
from mltune.space.config import Config
from tests import postgres, simulated

_CONFIGS = 4096
_CALLS = ("claim", "add", "finish")
_COLUMNS = (
    *("workers", "trials", "trials/s", "measurements/s"),
    *(f"{call} ms: p50, p99" for call in _CALLS),
    *("a worker's CPU ms a trial", "the server's"),
)


class Timed(SharedTrials):
    """A queue that measures how long its calls take."""

    def __init__(self, queue: SharedTrials, calls: dict[str, list[float]]) -> None:
        self.__dict__.update(queue.__dict__)
        self._calls = calls

    def claim(self, config: Config) -> int | None:
        with self._timed("claim"):
            return super().claim(config)

    def add_all(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        self._calls["measurements"] += [0.0] * len(measurements)
        with self._timed("add"):
            return super().add_all(measurements)

    def finish(self, number: int, values: Mapping[int, float], status: Status) -> None:
        with self._timed("finish"):
            super().finish(number, values, status)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self._calls[name].append(time.perf_counter() - began)


def main() -> int:
    """Print a line for each number of workers."""
    options = _options()
    bin_folder = postgres.programs_or_exit()
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|")
    for workers in options.workers:
        with postgres.server(bin_folder, flush=options.flush) as server:
            print(_line(server, workers, options), flush=True)
    return 0


def _line(server: postgres.Server, workers: int, options: argparse.Namespace) -> str:
    url = server.url.render_as_string(hide_password=False)
    study = simulated.begin(url, _CONFIGS, options.sizes)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        go = folder / "go"

        def work(device: int) -> None:
            calls: dict[str, list[float]] = defaultdict(list)
            used = 0.0

            def begin(queue: SharedTrials) -> SharedTrials:
                nonlocal used
                (folder / f"{device}.ready").touch()
                while not go.exists():
                    time.sleep(0.1)
                used = time.process_time()
                return Timed(queue, calls)

            simulated.take_part(
                study, f"simulated {device}", options.pause, begin, options.seconds
            )
            used = time.process_time() - used
            (folder / f"{device}.json").write_text(json.dumps({"used": used, "calls": calls}))

        numbers = [simulated.fork(partial(work, device)) for device in range(workers)]
        while len(list(folder.glob("*.ready"))) < workers:
            time.sleep(0.1)
        before = postgres.cpu_seconds(server.pid, of_ended_children=True)
        go.touch()
        failed = sum(not simulated.ended_well(number) for number in numbers)
        if failed:
            return f"| {workers} | {failed} workers failed |"
        answers = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    time.sleep(1)  # the server's processes end after their clients
    calls = {
        name: [each for answer in answers for each in answer["calls"].get(name, ())]
        for name in (*_CALLS, "measurements")
    }
    measurements = len(calls.pop("measurements"))
    trials = len(calls["finish"])
    client = sum(answer["used"] for answer in answers) / trials
    # All of a server's process counts that ends meanwhile, its start and end with it.
    own = (postgres.cpu_seconds(server.pid, of_ended_children=True) - before) / trials
    cells = [str(workers), str(trials), f"{trials / options.seconds:.0f}"]
    cells.append(f"{measurements / options.seconds:.0f}")
    cells += [_percentiles(times) for times in calls.values()]
    cells += [f"{1e3 * client:.1f}", f"{1e3 * own:.1f}"]
    return f"| {' | '.join(cells)} |"


def _percentiles(times: list[float]) -> str:
    cuts = statistics.quantiles(times, n=100)
    return f"{1e3 * cuts[49]:.1f}, {1e3 * cuts[98]:.1f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--workers",
        type=lambda words: [int(word) for word in words.split(",")],
        default=[1, 2, 4, 8, 16, 50, 100, 200],
    )
    parser.add_argument("--seconds", type=float, default=20, help="for each line")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of a measurement")
    parser.add_argument("--sizes", type=int, default=2, help="measurements of a trial")
    parser.add_argument("--flush", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
