"""`mltune train`: from measurements to a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mltune.cost_model import BoostedModel, OtherDevice, Scores, fit, save
from mltune.cost_model.io import MANIFEST
from mltune.errors import UsageError
from mltune.files import make_folder, refuse_unwritable
from mltune.tuning.progress import Show, Steps, ignore_progress
from mltune.workflow.candidates import Candidates
from mltune.workflow.card import warn_of_others
from mltune.workflow.recorded import Recorded, read_runs


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The cost model and its folder.

    Attributes:
        alone: scores of a model without other devices' rows; None if there is only one model.
        is_helped: whether the model learned from other devices' rows.
    """

    folder: Path
    model: BoostedModel
    example_size: tuple[int, ...]
    alone: Scores | None = None
    is_helped: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "model": str(self.folder),
            "rows": self.model.rows,
            "device": self.model.device.name,
            "scores": _scores_to_json(self.model.scores),
            "scores_alone": _scores_to_json(self.alone),
            "is_helped": self.is_helped,
        }


def train(
    runs: Sequence[Path],
    output: Path | None,
    seed: int,
    others: Sequence[Path] = (),
    *,
    show: Show = ignore_progress,
) -> TrainResult:
    """Fit the cost model to runs and save it with its candidates.

    Args:
        runs: of one device.
        output: the model's folder; None for the usual one.
        seed: of the fit and the split.
        others: runs of other devices. They are used if they reduce the error on held-out sizes, or
            if no size can be held out.
        show: called with the progress.

    Raises:
        UsageError: when a run cannot be read, or the runs do not belong together.
        NoCorrectConfigError: when no measurement succeeded.
        MltuneError: when the model cannot be written.
    """
    recorded = read_runs(runs, show)
    more = [_other(folder, recorded) for folder in others]
    if output is None:
        warn_of_others(recorded.model_folder, runs)
    folder = output or recorded.model_folder
    make_folder(folder)  # the next steps may take minutes
    refuse_unwritable(folder / MANIFEST)
    measurements, device = recorded.measurements, recorded.device
    model = alone = fit(measurements, device, seed=seed, on_step=Steps("train", show))
    if more:
        step = Steps("train with others", show)
        helped = fit(measurements, device, others=more, seed=seed, on_step=step)
        if not (alone.scores and helped.scores) or helped.scores.rmse_log < alone.scores.rmse_log:
            model = helped
    save(model, folder)
    Candidates.of(recorded).write(folder)
    return TrainResult(
        folder=folder,
        model=model,
        example_size=recorded.measurements[0].problem.size,
        alone=alone.scores if more else None,
        is_helped=model is not alone,
    )


def _other(folder: Path, recorded: Recorded) -> OtherDevice:
    other = read_runs([folder])
    if other.device.model == recorded.device.model:
        raise UsageError(
            f"--others {folder}: was measured on the device of the model, "
            f"{other.device.model}; give it as a RUN"
        )
    return OtherDevice(other.device, other.measurements)


def _scores_to_json(scores: Scores | None) -> dict[str, Any] | None:
    return None if scores is None else asdict(scores)
