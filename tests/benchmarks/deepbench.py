"""DeepBench's 144 sizes: searched on all GPUs of this host, then held beside cuBLAS.

    python tests/benchmarks/deepbench.py -o /tmp/deepbench --seconds 40

The sizes of sgemm NN, NT and TN are put into groups by shape. Each group is searched in one or two
spaces, and the fastest kernel that was found for each size is benched beside cuBLAS on the same
GPU; the GPUs take groups in turns, those of the most work first. All searches of a problem type
have at most 3,000 trials together. Prints a table of all sizes and the ratios of kernel times
(geometric means: of all sizes, of skinny ones, and of those with a K of 500,000 apart), and writes
runs, selectors and deepbench.json.

The groups `long` take minutes and 10 GB of host memory for their numbers alone; they are left out
unless `--groups` names them. Needs no network.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from best_against import exact_selector  # type: ignore[import-not-found]  # lies beside this file

from mltune.kernel.name import blocking_of
from mltune.kernel.space_file import load_space
from mltune.problem import parse_problem_type
from mltune.problem.sizes import parse_sizes
from mltune.selector.json import write_selector
from mltune.space.config import Config

TYPES = ("nn", "tn", "nt")
TRIALS = 3000  # of all searches of a problem type
LONG = 100_000
SKINNY = 32

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Group:
    """Similar sizes, and the space in which their kernels are searched."""

    takes: Callable[[int, int, int], bool]
    spaces: tuple[str, ...]


GROUPS = {
    "large": Group(
        lambda m, n, k: k < LONG and min(m, n) > 4 * SKINNY,
        ("wgmma-single-nvidia", "mma-nvidia"),
    ),
    "middle": Group(
        lambda m, n, k: k < LONG and SKINNY < min(m, n) <= 4 * SKINNY,
        ("mma-skinny-nvidia", "mma-nvidia"),
    ),
    "vector": Group(
        lambda m, n, k: k < LONG and min(m, n) <= SKINNY // 4,
        ("mma-skinny-nvidia", "thin"),
    ),
    "skinny": Group(
        lambda m, n, k: k < LONG and SKINNY // 4 < min(m, n) <= SKINNY, ("mma-skinny-nvidia",)
    ),
    "long": Group(lambda m, n, k: k >= LONG, ("mma-skinny-nvidia",)),
}


@dataclass(frozen=True)
class Job:
    """A group of sizes of one problem type."""

    problem: str
    group: str
    sizes: tuple[Size, ...]
    spaces: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of its folders and lines."""
        return f"{self.problem}-{self.group}"


def main() -> int:
    """Search, bench, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--groups", default=",".join(name for name in GROUPS if name != "long"))
    parser.add_argument("--spaces", help="in place of each group's own")
    parser.add_argument("--devices", help="numbers P:D (default: all NVIDIA GPUs)")
    parser.add_argument("--seconds", type=int, default=40, help="of each search")
    parser.add_argument("--rounds", type=int, default=7, help="of the bench")
    parser.add_argument("--against", default="cublas")
    options = parser.parse_args()
    out: Path = options.output
    out.mkdir(parents=True, exist_ok=True)
    devices = options.devices.split(",") if options.devices else _nvidia_gpus()
    free: Queue[str] = Queue()
    for device in devices:
        free.put(device)
    builders = min(max((os.cpu_count() or 1) // len(devices) - 1, 0), 15)

    def run(job: Job) -> list[dict[str, Any]]:
        device = free.get()
        try:
            return _run_job(job, device, builders, out, options)
        except subprocess.CalledProcessError as error:
            print(f"{job.name} on {device}: {error}", flush=True)
            return []
        finally:
            free.put(device)

    jobs = _jobs(options.types.split(","), options.groups.split(","), options.spaces)
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(len(devices)) as threads:
        for done in as_completed([threads.submit(run, job) for job in jobs]):
            # What is known is shown at once, in case that the machine is taken away.
            rows += done.result()
            _print_rows(done.result(), options.against)
            _print_ratios(rows, options.against)
            (out / "deepbench.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def _jobs(types: Sequence[str], groups: Sequence[str], spaces: str | None) -> list[Job]:
    """Return all groups that have sizes, the largest work first."""
    jobs = []
    for group in groups:
        for kind in types:
            extents = [size.extents for size in parse_sizes(f"deepbench-{kind}")]
            sizes = [(m, n, k) for m, n, k, *_ in extents]
            mine = tuple(size for size in sizes if GROUPS[group].takes(*size))
            own = tuple(spaces.split(",")) if spaces else GROUPS[group].spaces
            if mine:
                jobs.append(Job(f"sgemm_{kind}", group, mine, own))
    return jobs


def _run_job(
    job: Job, device: str, builders: int, out: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    sizes = ",".join("x".join(map(str, size)) for size in job.sizes)
    best: dict[Size, dict[str, Any]] = {}
    for space in job.spaces:
        found = _mltune(
            "search", "--device", device, "--problem", job.problem, "--sizes", sizes,
            "--space", f"spaces/{space}.yaml", "--seed", "1", "--builders", str(builders),
            "--budget", str(TRIALS // (len(GROUPS) * len(job.spaces))),
            "--time-limit", str(options.seconds), "--run", str(out / f"{job.name}-{space}"),
        )  # fmt: skip
        note = f"{found['trials']} trials, {found['failed']} failed, {found['seconds']:.0f} s"
        print(f"{job.name} in {space} on {device}: {note}", flush=True)
        family = load_space(Path(f"spaces/{space}.yaml")).family
        for row in found["best"]:
            size = tuple(row["sizes"][:3])
            if size not in best or row["seconds"] < best[size]["seconds"]:
                best[size] = row | {"family": family}
    selector = out / f"{job.name}.json"
    choices = {
        size: (row["family"], Config.from_json(row["config"])) for size, row in best.items()
    }
    write_selector(exact_selector(parse_problem_type(job.problem), choices), selector)
    measured = _mltune(
        "bench", str(selector), "--device", device, "--against", options.against,
        "--sizes", sizes, "--rounds", str(options.rounds),
    )  # fmt: skip
    return [
        {"problem": job.problem, "group": job.group, **row, "best": best[size]}
        for row in measured["sizes"]
        if (size := tuple(row["size"][:3])) in best
    ]


def _print_rows(rows: Sequence[dict[str, Any]], against: str) -> None:
    print(f"\nGFLOP/s by kernel time{'':20s}  mltune {against:>8s}   ratio  error / error")
    for row in rows:
        m, n, k = row["size"][:3]
        head = f"{row['problem']} {'x'.join(map(str, (m, n, k))):18s} {row['group']:12s}"
        ratio = _ratio(row, against)
        if ratio is None:
            print(f"{head}  {row['refused']}")
            continue
        ours, theirs = row["contestants"]["mltune"], row["contestants"][against]
        error = ours["relative_error"] / max(theirs["relative_error"], sys.float_info.min)
        blocking = blocking_of(row["best"]["kernel"])
        split = blocking.split if blocking else 1
        print(
            f"{head} {ours['kernel_gflops']:8,.0f} {theirs['kernel_gflops']:8,.0f} {ratio:7.3f} "
            f"{error:7.2f}  {split:3d} a sum: "
            f"{row['best']['family']} {row['best']['kernel'].partition('_SB_')[2]}"
        )


def _print_ratios(rows: Sequence[dict[str, Any]], against: str) -> None:
    ratios: dict[str, list[float]] = {}
    for row in rows:
        m, n, k = row["size"][:3]
        ratio = _ratio(row, against)
        if ratio is None:
            continue
        words = ["K of 500,000"] if k >= LONG else ["all", row["group"], f"all {row['problem']}"]
        if k < LONG and min(m, n) <= SKINNY:
            words.append("M or N <= 32")
        for word in words:
            ratios.setdefault(word, []).append(ratio)
    print(f"speed of mltune / speed of {against}, kernel time:")
    for word, values in sorted(ratios.items()):
        mean = math.exp(math.fsum(map(math.log, values)) / len(values))
        spread = f"worst {min(values):6.3f}  best {max(values):6.3f}"
        print(f"{word:14s} {len(values):4d} sizes  geomean {mean:6.3f}  {spread}", flush=True)


def _ratio(row: dict[str, Any], against: str) -> float | None:
    """Return the ratio of speeds by the device's clock; None if one of the two has no time."""
    ours, theirs = (
        row["contestants"].get(name, {}).get("kernel_seconds") for name in ("mltune", against)
    )
    return theirs / ours if ours and theirs else None


def _nvidia_gpus() -> list[str]:
    found = _mltune("devices")["devices"]
    return [each["spec"] for each in found if "NVIDIA" in each["platform"]]


def _mltune(*arguments: str) -> dict[str, Any]:
    """Run a verb, and return the document that it prints."""
    command = [sys.executable, "-m", "mltune", *arguments, "--json", "-q"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    sys.exit(main())
