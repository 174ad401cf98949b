"""(problem, config) -> Measurement: by a live worker process, or from records."""

from mltune.runner.live import DEFAULT_SAMPLES, WorkerRunner
from mltune.runner.replay import ReplayRunner
from mltune.runner.runner import Runner

__all__ = ["DEFAULT_SAMPLES", "ReplayRunner", "Runner", "WorkerRunner"]
