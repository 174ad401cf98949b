"""(problem, config) -> Measurement: a live, killable worker, or a replay of records."""

from mltune.runner.live import DEFAULT_SAMPLES, WorkerRunner
from mltune.runner.replay import ReplayRunner
from mltune.runner.runner import Runner

__all__ = ["DEFAULT_SAMPLES", "ReplayRunner", "Runner", "WorkerRunner"]
