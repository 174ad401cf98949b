"""`mltune predict`: the fastest kernels for a size, by the cost model and by measurement."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mltune.cost_model import load, rank
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel.name import kernel_name
from mltune.measurement import Measurement
from mltune.problem import Problem, problem_of_size
from mltune.runner.live import WorkerRunner
from mltune.selector.pack import pack_folder
from mltune.space import Config
from mltune.space.union import with_family
from mltune.tuning.families import NamedFamilies, family_named
from mltune.workflow.candidates import Candidates
from mltune.workflow.recorded_device import recorded_device


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The options of `mltune predict`."""

    model: Path
    size: tuple[int, ...]
    top: int
    explore: int
    measure: bool
    device: str | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One kernel's predicted time in seconds, and its measurement if there is one."""

    config: Config
    kernel: str
    seconds: float
    measurement: Measurement | None


@dataclass(frozen=True, slots=True)
class PredictResult:
    """The kernels predicted to be the fastest: measured ones by time, others by prediction."""

    problem: Problem
    predictions: tuple[Prediction, ...]

    def gflops(self, seconds: float | None) -> float | None:
        """Return the speed at a time; None for no time."""
        return None if seconds is None else self.problem.flops / seconds / 1e9

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "size": list(self.problem.size),
            "predictions": [
                {
                    "kernel": prediction.kernel,
                    "config": prediction.config.to_json(),
                    "predicted_seconds": prediction.seconds,
                    "predicted_gflops": self.gflops(prediction.seconds),
                    "status": m.status.value if (m := prediction.measurement) else None,
                    "measured_seconds": m.median if m else None,
                    "measured_gflops": m.gflops if m else None,
                }
                for prediction in self.predictions
            ],
        }


def predict(options: PredictOptions) -> PredictResult:
    """Rank the candidates of a model for one size.

    Raises:
        UsageError: when the model cannot be read or the size does not fit its problem type.
        NoDeviceError: when it has to measure and there is no such device.
    """
    folder = pack_folder(options.model)
    model = load(folder)
    candidates = Candidates.read(folder)
    problem = problem_of_size(candidates.contraction, options.size)
    family_of = candidates.family_of
    if options.explore:
        family_of |= _unmeasured(candidates, model.device, options)
    configs = list(family_of)
    if not configs:
        raise UsageError(f"{options.model}: has no config that was always right")
    names = set(family_of.values())
    family = NamedFamilies({name: family_named(name, "candidates") for name in names})
    named = {config: with_family(config, name) for config, name in family_of.items()}
    fitting = (
        each for each in rank(model, problem, configs) if _takes(family, named[each[0]], problem)
    )
    best = list(islice(fitting, options.top))
    if not best:
        raise UsageError(f"{options.model}: has no kernel that takes {problem.label}")
    measured: dict[Config, Measurement] = {}
    if options.measure:
        with (
            recorded_device(model.device, options.device, options.model) as device,
            WorkerRunner(device, family, precisions=(problem.contraction.precision,)) as runner,
        ):
            measured = {config: runner.run(problem, named[config]) for config, _ in best}
    predictions = [
        Prediction(
            config=config,
            kernel=kernel_name(candidates.contraction, config),
            seconds=seconds,
            measurement=measured.get(config),
        )
        for config, seconds in best
    ]
    if options.measure:
        predictions.sort(key=_measured_time)
    return PredictResult(problem, tuple(predictions))


def _takes(family: NamedFamilies, config: Config, problem: Problem) -> bool:
    """Whether a problem is within the limits of a config's kernel."""
    try:
        kernel = family.generate(problem.contraction, config)
    except UsageError:
        return False
    return not kernel.limits.refusal(problem.canonical())


def _unmeasured(
    candidates: Candidates, device: DeviceInfo, options: PredictOptions
) -> dict[Config, str]:
    """Draw configs that were not measured, equally many from each space, with their families."""
    rng = np.random.default_rng(options.seed)
    spaces = [each.bound_space(device, candidates.contraction) for each in candidates.families]
    shares = [len(part) for part in np.array_split(np.arange(options.explore), len(spaces))]
    return {
        config: space.family
        for space, share in zip(spaces, shares, strict=True)
        for config in space.sample(rng, share)
    }


def _measured_time(prediction: Prediction) -> float:
    median = prediction.measurement.median if prediction.measurement else None
    return float("inf") if median is None else median
