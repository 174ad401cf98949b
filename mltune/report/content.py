"""The content of a report: plain values, computed by the caller."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from mltune.measurement.measurement import Measurement, Status
from mltune.problem import Problem
from mltune.run.run_info import RunInfo
from mltune.selector import Selector
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """A trial: its speed over all sizes (geometric mean, GFLOP/s), None if it failed."""

    number: int
    config: Config
    gflops: float | None
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The cost model's scores and what it learned.

    Attributes:
        calibration: (measured, predicted) seconds, each predicted by a model that has not seen the
            size; empty with a single size.
        bias: each size's geometric mean of predicted / measured seconds there.
        rmse_log: root mean square of log(predicted / measured) there.
        top_1: geometric mean over the sizes of best time / time of the config predicted to be the
            fastest.
        importance: for each parameter that varied, the increase of the error of log seconds when
            it is shuffled, the largest first.
    """

    calibration: tuple[tuple[float, float], ...]
    bias: tuple[tuple[str, float], ...]
    rmse_log: float | None
    top_1: float | None
    importance: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The result of distilling.

    Attributes:
        portfolio_curve: (kernels, loss): geometric mean over the sizes of the time of the best of
            so many kernels / the best known time - 1.
        losses: for each rule, every size's regret when a fit without that size chose.
        sizes: the sizes' labels, in the order of the losses.
    """

    selector: Selector
    portfolio_curve: tuple[tuple[int, float], ...]
    sizes: tuple[str, ...]
    losses: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain over something, as a geometric mean.

    Attributes:
        speed: of the best kernels / of what they are compared with.
        words: what they are compared with.
        sizes: the number of sizes where both are known.
    """

    speed: float
    words: str
    sizes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """Another run, on the sizes that both have.

    Attributes:
        name: of the other run.
        words: its device, driver and date.
        pairs: the best measurement of each size here and there, in the order of the sizes here.
    """

    name: str
    words: str
    pairs: tuple[tuple[Measurement, Measurement], ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratios speed here / speed there of all sizes."""
        return tuple((here.gflops or 0.0) / (there.gflops or 1.0) for here, there in self.pairs)

    @property
    def speed(self) -> float:
        """The geometric mean of the ratios."""
        return statistics.geometric_mean(self.ratios)


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The text of a kernel, and whether it is the one that was measured."""

    name: str
    text: str
    is_measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A run, and what the stages computed from it.

    Attributes:
        best: the fastest measurement of each size that has one, in the order of the sizes.
        model: the cost model, or one sentence that says why there is none.
        selection: likewise, of the rule.
        next_command: the command to type next.
        replay_command: repeats a measurement when its id is appended.
        gain: None if nothing can be compared.
        against: another run, if one was asked for.
        of_peak: the share of the device's published peak, if that is known.
        sources: of the kernels that are the best on some size.
        refresh_seconds: the time after which the page reloads; 0 is never.
    """

    name: str
    info: RunInfo
    measurements: tuple[Measurement, ...]
    trials: tuple[TrialPoint, ...]
    best: tuple[Measurement, ...]
    model: Model | str
    selection: Selection | str
    next_command: str
    replay_command: str = "mltune replay RUN"
    gain: Gain | None = None
    against: Against | None = None
    of_peak: Mapping[Problem, float] = field(default_factory=dict)
    sources: tuple[KernelSource, ...] = ()
    refresh_seconds: int = 0
