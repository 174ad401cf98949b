"""Cuts the network between PostgreSQL and half of the workers, and checks that they go on.

    python -m tests.benchmarks.worker_cut --seconds 30        # needs root, ip, postgresql

Half of the simulated workers run in a network namespace of their own, which a pair of virtual
interfaces connects with the server's. The link is taken down for some seconds and up again, and
nobody is told. At the end the checks of `worker_kills` have to hold, every worker has to have come
to its end by itself, and those that were cut off must have measured before and after the cut.
With more than sixty seconds the leases of those run out, and the others take up their trials.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from tests import postgres, simulated

_NAMESPACE, _OUTER, _INNER = "mltune-cut", "mltune-cut-a", "mltune-cut-b"
_SERVER, _CLIENT = "10.213.7.1", "10.213.7.2"
_NEW_NETWORK = 0x40000000


def main() -> int:
    """Cut and mend, print what was counted, and say whether all checks held."""
    options = _options()
    bin_folder = postgres.programs_or_exit()
    if os.geteuid():
        sys.exit("needs root, for a network namespace")
    _ip(f"netns add {_NAMESPACE}")
    try:
        _ip(f"link add {_OUTER} type veth peer name {_INNER} netns {_NAMESPACE}")
        _ip(f"addr add {_SERVER}/24 dev {_OUTER}")
        _ip(f"link set {_OUTER} up")
        _ip(f"-n {_NAMESPACE} addr add {_CLIENT}/24 dev {_INNER}")
        _ip(f"-n {_NAMESPACE} link set {_INNER} up")
        with postgres.server(bin_folder, address=_SERVER) as server:
            faults = _run(server.url.render_as_string(hide_password=False), options)
    finally:
        _ip(f"netns del {_NAMESPACE}")
    print(simulated.verdict(faults))
    return 1 if faults else 0


def _run(url: str, options: argparse.Namespace) -> list[str]:
    study = simulated.begin(url, options.budget)

    def work(number: int) -> None:
        if number % 2:
            _enter_namespace()
        simulated.take_part(study, f"simulated {number}", options.pace)

    with simulated.asking(url) as ask:
        numbers = [simulated.fork(partial(work, number)) for number in range(options.workers)]
        cut_off = numbers[1::2]
        time.sleep(options.before)
        _ip(f"link set {_OUTER} down")
        time.sleep(3)  # what was on its way has arrived
        before = _measured(ask, cut_off)
        time.sleep(options.seconds - 3)
        during = _measured(ask, cut_off)
        _ip(f"link set {_OUTER} up")
        mended = time.monotonic()
        while _measured(ask, cut_off) == during and time.monotonic() < mended + 120:
            time.sleep(0.2)
        recovery = time.monotonic() - mended
        failed = sum(not simulated.ended_well(number) for number in numbers)
        faults = simulated.faults(ask, study, set())
        after = _measured(ask, cut_off)
        everyone = _measured(ask, numbers)
    if failed:
        faults.append(f"{failed} workers failed")
    if not 0 < before <= during < after:
        faults.append("those that were cut off did not measure before and after")
    print(
        f"cut off for {options.seconds} s: {len(cut_off)} of {len(numbers)} workers, who added "
        f"{before} measurements before, {during - before} meanwhile, {after - during} after; the "
        f"first {recovery:.1f} s after the link was up; {everyone} by all workers"
    )
    return faults


def _measured(ask: simulated.Ask, numbers: list[int]) -> int:
    """Return how many measurements the named processes added, by the name in the timestamp."""
    names = " OR ".join(f"timestamp LIKE '{number} %'" for number in numbers)
    return int(ask(f"SELECT count(*) FROM mltune_measurements WHERE {names}")[0][0])


def _enter_namespace() -> None:
    with Path(f"/run/netns/{_NAMESPACE}").open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--pace", type=float, default=0.1, help="seconds of a measurement")
    parser.add_argument("--before", type=float, default=5, help="seconds before the cut")
    parser.add_argument("--seconds", type=float, default=30, help="of the cut")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
