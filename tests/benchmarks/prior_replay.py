"""Measure what other records of the same kernel are worth to the guided search.

    python tests/benchmarks/prior_replay.py FILE FILE... --seeds 25 --budget 200

Each recorded space is searched with the others that have the same parameters as its prior: 2,000
random points of one of them, all points of all of them, and, to mislead, one's 2,000 points with
their times shuffled. Prints the mean over seeds of optimum / best found after so many distinct
evaluations, failures included, beside the cold search.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray

from mltune.compat.foreign import read_recording
from mltune.measurement.measurement import Status
from mltune.measurement.recording import Recording
from mltune.search.make import make_sampler
from mltune.space.config import Config
from mltune.space.recorded import RecordedSpace

VARIANTS = ("cold", "2,000 of one", "all of all", "shuffled")
optuna.logging.set_verbosity(optuna.logging.WARNING)
MARKS = (5, 10, 25, 50, 100, 200, 500)
POINTS = 2000
Curve = NDArray[np.float64]


def some(recording: Recording, seed: int) -> Recording:
    """Return a random part of a record."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(recording.points))[:POINTS]
    return replace(recording, points=tuple(recording.points[number] for number in chosen))


def shuffled(recording: Recording, seed: int) -> Recording:
    """Return a part of a record with its outcomes shuffled."""
    part = some(recording, seed)
    outcomes = np.random.default_rng(seed + 1).permutation(len(part.points))
    return replace(
        part,
        points=tuple(
            replace(point, seconds=part.points[number].seconds, status=part.points[number].status)
            for point, number in zip(part.points, outcomes, strict=True)
        ),
    )


def priors(others: list[Recording], variant: str, seed: int) -> Iterator[list[Recording]]:
    """Yield the sets of priors of a variant; each is one search."""
    if variant == "cold":
        yield []
    elif variant == "all of all":
        yield others
    else:
        for other in others:
            yield [some(other, seed) if variant == "2,000 of one" else shuffled(other, seed)]


def curve(recording: Recording, known: list[Recording], seed: int, budget: int) -> Curve:
    """Return optimum / best found after each evaluation."""
    points = {point.config: point for point in recording.points}
    space = RecordedSpace(recording.where, points)
    sampler = make_sampler("guided", space, seed, priors=known)
    study = optuna.create_study(sampler=sampler)
    times = []
    for _ in range(budget):
        trial = study.ask(sampler.distributions)
        point = points[Config.of(trial.params)]
        if point.status is Status.OK and point.seconds:
            study.tell(trial, point.seconds)
            times.append(point.seconds)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            times.append(math.inf)
    assert recording.optimum_seconds is not None
    found: Curve = recording.optimum_seconds / np.minimum.accumulate(np.array(times, float))
    return found


def main() -> None:
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--variant", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--budget", type=int, default=200)
    args = parser.parse_args()
    recordings = {file: read_recording(file) for file in args.files}
    for variant in args.variant:
        curves = []
        for file, recording in recordings.items():
            names = set(recording.points[0].config)
            others = [
                other
                for path, other in recordings.items()
                if path != file and set(other.points[0].config) == names
            ]
            found = [
                curve(recording, known, seed, args.budget)
                for seed in range(args.seeds)
                for known in priors(others, variant, seed)
            ]
            curves.append(np.mean(found, axis=0))
            report(variant, file.name.split(".")[0], curves[-1])
        report(variant, "mean", np.mean(curves, axis=0))


def report(variant: str, space: str, mean: Curve) -> None:
    """Print one line of the table."""
    figures = "  ".join(f"{m}: {mean[m - 1]:.3f}" for m in MARKS if m <= len(mean))
    print(f"{variant:14} {space:28} {figures}", flush=True)


if __name__ == "__main__":
    main()
