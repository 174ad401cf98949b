"""The result of `mltune search`: the best kernels, the gain over others, and the next commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mltune.counted import counted
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.measurement import Measurement
from mltune.problem import problem_type_name
from mltune.run.effort import Effort
from mltune.run.run_info import RunInfo
from mltune.search.expected_gain import ExpectedGain
from mltune.shell import command
from mltune.tuning.final_selection import Choice
from mltune.tuning.resumed_run import resuming
from mltune.tuning.stop_reason import StopReason, gain_to_json
from mltune.workflow.gain import Gain


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search.

    Attributes:
        choices: for every size the chosen config, and equally good ones.
        seconds: wall time of this call.
        stopped: why it ended early by itself; empty if it did not.
        disturbed: rounds of the leaders that were repeated, as something slowed them down.
        measured_while_building: the share of the builders' time in which the device measured.
        stop_reason: why the trials ended.
        sizes_left_out: sizes that nothing was timed on, as the time was over.
        effort: how the budget was used.
        expected_gain: of further trials; None if unknown.
        gain: over the default kernel, of the roofline, over installed libraries.
        unrecorded: options that the run does not record, for the command that resumes it.
    """

    run: Path
    info: RunInfo
    trials: int
    failed: int
    seconds: float
    choices: tuple[Choice, ...]
    stopped: str = ""
    disturbed: int = 0
    measured_while_building: float | None = None
    stop_reason: StopReason
    sizes_left_out: int = 0
    effort: Effort
    expected_gain: ExpectedGain | None = None
    gain: Gain = field(default_factory=Gain)
    unrecorded: tuple[str, ...] = ()

    def __repr__(self) -> str:  # one line: the run's options alone are pages long
        trials = f"{counted(self.trials, 'trial')}, {self.failed} failed"
        return f"<SearchResult {self.problem} on {self.info.device.name}: {trials}, {self.run}>"

    @property
    def best(self) -> tuple[Measurement, ...]:
        """The chosen config's measurement on every size."""
        return tuple(choice.best for choice in self.choices)

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return self.stop_reason is StopReason.INTERRUPTED

    @property
    def problem(self) -> str:
        """The problem type's name."""
        return problem_type_name(self.info.contraction)

    @property
    def exit_code(self) -> int:
        """The exit code: 0, 130 if it was interrupted, or 4 if the device was lost."""
        return 130 if self.interrupted else 4 if self.stopped else 0

    def resumed_by(self, *more: str) -> str:
        """Return the command that resumes the search, with further options."""
        return resuming(self.run, self.info, *more)

    @property
    def next_commands(self) -> tuple[str, ...]:
        """The commands to type next."""
        if self.interrupted or self.stopped:
            reason = self.stopped or "interrupted"
            again = self.resumed_by(*self.unrecorded)
            return (f"{reason}; resume with: {again}",)
        if self.info.family == HANDWRITTEN:
            return (f"next: {command('mltune', 'report', self.run)}",)
        verbs = ("train", "distil") if self.info.contraction.is_gemm else ("report", "source")
        first, other = (command("mltune", verb, self.run) for verb in verbs)
        return (f"next: {first}    or: {other}",)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "run": str(self.run),
            "device": self.info.device.name,
            "driver": self.info.device.driver_version,
            "problem": self.problem,
            "trials": self.trials,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "disturbed": self.disturbed,
            "measured_while_building": self.measured_while_building,
            "stop_reason": self.stop_reason.value,
            "sizes_left_out": self.sizes_left_out,
            "expected_gain": gain_to_json(self.expected_gain),
            "effort": self.effort.to_json(),
            "gain": self.gain.to_json(),
            "best": [
                {
                    "sizes": list(choice.best.problem.size),
                    "config": choice.best.config.to_json(),
                    "kernel": choice.best.kernel,
                    "seconds": choice.best.median,
                    "gflops": choice.best.gflops,
                    "equals": [one.kernel for one in choice.equals],
                    **self.gain.size_to_json(choice.best.problem),
                }
                for choice in self.choices
            ],
        }
