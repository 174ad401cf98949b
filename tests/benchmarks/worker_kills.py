"""Kills workers of a shared search at random, and checks that nothing is lost or doubled.

    python -m tests.benchmarks.worker_kills --workers 8 --kills 30

Starts a PostgreSQL of its own (Debian's `postgresql`), and workers in processes of their own, each
with a replayed device that takes some milliseconds a measurement. One of them gets SIGKILL at
random moments, and another one takes its device at once; where there are fewer devices than
workers, the others wait for theirs. Now and then the server drops all connections. Every
measurement that was seen before a kill has to be there afterwards. At the end the budget has to be
met exactly, every trial whole and none twice, each leader measured, no two workers ever at once on
a device, and no lease left. The exit code is 0 when all of it held.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time

from tests import postgres, simulated

_DROP = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def main() -> int:
    """Kill and restart, print what was counted, and say whether all checks held."""
    options = _options()
    bin_folder = postgres.programs_or_exit()
    with postgres.server(bin_folder) as server:
        url = server.url.render_as_string(hide_password=False)
        faults = _run(url, options)
    print(simulated.verdict(faults))
    return 1 if faults else 0


def _run(url: str, options: argparse.Namespace) -> list[str]:
    chance = random.Random(options.seed)
    study = simulated.begin(url, options.budget)
    began = time.monotonic()

    def start(device: int) -> int:
        return simulated.fork(
            lambda: simulated.take_part(
                study, f"simulated {device % options.devices}", options.seconds
            )
        )

    workers = [start(device) for device in range(options.workers)]
    seen: set[int] = set()
    killed = killed_at_work = dropped = 0
    with simulated.asking(url) as ask:
        while killed < options.kills and not ask("SELECT 1 FROM mltune_runs WHERE concluded"):
            time.sleep(chance.uniform(0, options.longest))
            seen |= {int(number) for (number,) in ask("SELECT id FROM mltune_measurements")}
            device = chance.randrange(options.workers)
            os.kill(workers[device], signal.SIGKILL)
            killed_at_work += not simulated.ended_well(workers[device])
            killed += 1
            workers[device] = start(device)
            if chance.random() < options.drops:
                ask(_DROP)
                dropped += 1
        failed = sum(not simulated.ended_well(number) for number in workers)
        faults = simulated.faults(ask, study, seen)
        (rows,) = ask("SELECT count(*) FROM mltune_measurements")
    if failed:
        faults.append(f"{failed} workers failed")
    print(
        f"{killed} kills, {killed_at_work} of workers at work; {dropped} times all "
        f"connections dropped; {options.workers} workers on {options.devices} devices, "
        f"{options.budget} trials, {rows[0]} measurements, {time.monotonic() - began:.0f} s"
    )
    return faults


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--devices", type=int, default=6)
    parser.add_argument("--drops", type=float, default=0.2, help="share of the kills")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--budget", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=0.01, help="of a measurement")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
