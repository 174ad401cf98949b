"""Measures a trial size by size; no other code does."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace

from mltune.measurement import Measurement, Status
from mltune.problem import Problem
from mltune.tuning.queue import Job
from mltune.tuning.recorder import Recorder
from mltune.tuning.session import MeasurementSession
from mltune.tuning.trial import Trial


def measure_trial(
    job: Job,
    session: MeasurementSession,
    recorder: Recorder,
    steps: Mapping[Problem, int],
    end: float = math.inf,
) -> Trial:
    """Measure what a trial lacks, and return the trial, which is complete unless time is over.

    The value on each size is reported to the study, whose pruner decides before each size but the
    first whether to time it.

    Args:
        job: the trial.
        session: measures.
        recorder: stores every measurement.
        steps: the number of each size in the study.
        end: no size but the first begins after it, by `time.monotonic`.

    Raises:
        LeaseLostError: when another process has the trial by now.
        DeviceGoneError: when the device can no longer be used.
    """
    proposal, number = job.proposal, job.trial.number

    def keep(row: Measurement) -> Measurement:
        return recorder.add(replace(row, trial=number))

    known = {row.problem: row for row in job.trial.measurements}
    rows: list[Measurement] = []
    for problem in job.problems:
        if proposal is not None and rows and proposal.should_prune():
            break
        row = known.get(problem)
        if row is None:
            if rows and time.monotonic() >= end:
                break
            row = session.measure(problem, job.trial.config, job.phase, keep, end)
        rows.append(row)
        value = session.told_value(row)
        if proposal is not None and value is not None and problem in steps:
            proposal.report(steps[problem], value)
        if row.status is not Status.OK and job.ends_at_failure:
            break
    return Trial(number, job.trial.config, tuple(rows))
