"""The result of `mltune protocol`, or of its dry run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.compat.tensile import StepReport
from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.shell import command


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """One group of sizes: the kernels kept by each step, and the names of the last step's."""

    steps: tuple[StepReport, ...]
    kernels: tuple[str, ...]
    sizes: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "steps": [
                {
                    "step": step.number,
                    "name": step.name,
                    "compared": step.compared,
                    "refused": step.refused,
                    "kernels": step.kept,
                }
                for step in self.steps
            ],
            "kernels": list(self.kernels),
            "sizes": self.sizes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One problem type: its run, its groups, and the fastest kernel of each size."""

    folder: Path
    problem: str
    groups: tuple[GroupResult, ...]
    trials: int
    failed: int
    best: tuple[Measurement, ...]

    @property
    def next_command(self) -> str:
        """The command to type next: no selector is for a contraction that is no GEMM."""
        is_gemm = all(one.problem.contraction.is_gemm for one in self.best)
        return command("mltune", "distil" if is_gemm else "source", self.folder)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "run": str(self.folder),
            "problem": self.problem,
            "trials": self.trials,
            "failed": self.failed,
            "groups": [group.to_json() for group in self.groups],
            "best": [
                {
                    "sizes": list(one.problem.size),
                    "kernel": one.kernel,
                    "config": one.config.to_json(),
                    "seconds": one.median,
                    "gflops": one.gflops,
                }
                for one in self.best
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolResult:
    """The result of a protocol.

    Attributes:
        root: of the runs: the one run's folder, or the folder of all runs.
        stopped: why it ended early by itself; empty if it did not.
        lost: whether that was because the device failed.
    """

    file: Path
    root: Path
    device: DeviceInfo
    runs: tuple[RunResult, ...]
    seconds: float
    interrupted: bool = False
    stopped: str = ""
    lost: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code: 0, 130 if it was interrupted, or 4 if the device was lost."""
        return 130 if self.interrupted else 4 if self.lost else 0

    @property
    def next_commands(self) -> tuple[str, ...]:
        """The commands to type next."""
        if self.interrupted or self.stopped:
            again = command("mltune", "protocol", self.file, "--resume", "--run", self.root)
            return (f"{self.stopped or 'interrupted'}; continue with: {again}",)
        return tuple(f"next: {run.next_command}" for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "file": str(self.file),
            "run": str(self.root),
            "device": self.device.name,
            "driver": self.device.driver_version,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "runs": [run.to_json() for run in self.runs],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One problem type, and the plan of its groups."""

    problem: str
    groups: tuple[GroupResult, ...]
    kernels: int
    measurements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """The plan of a protocol."""

    file: Path
    device: DeviceInfo
    runs: tuple[PlannedRun, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "file": str(self.file),
            "device": self.device.name,
            "dry_run": True,
            "kernels": sum(run.kernels for run in self.runs),
            "measurements": sum(run.measurements for run in self.runs),
            "runs": [
                {
                    "problem": run.problem,
                    "kernels": run.kernels,
                    "measurements": run.measurements,
                    "groups": [group.to_json() for group in run.groups],
                }
                for run in self.runs
            ],
        }
