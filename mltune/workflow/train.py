"""`mltune train`: measurements become a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mltune.cost_model import BoostedModel, fit, save
from mltune.workflow.candidates import Candidates
from mltune.workflow.recorded import read_runs


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The cost model, and where it lies."""

    folder: Path
    model: BoostedModel
    example_size: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        scores = self.model.scores
        return {
            "model": str(self.folder),
            "rows": self.model.rows,
            "device": self.model.device.name,
            "scores": None if scores is None else asdict(scores),
        }


def train(runs: Sequence[Path], output: Path | None, seed: int) -> TrainResult:
    """Fit the cost model to runs and save it with its candidates.

    Raises:
        UsageError: when a run cannot be read, or the runs do not belong together.
        NoCorrectConfigError: when no measurement succeeded.
        MltuneError: when the model cannot be written.
    """
    recorded = read_runs(runs)
    model = fit(recorded.measurements, recorded.device, seed=seed)
    folder = output or recorded.model_folder
    save(model, folder)
    Candidates.of(recorded).write(folder)
    return TrainResult(folder, model, recorded.measurements[0].problem.size)
