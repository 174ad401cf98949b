"""A run's trials as an Optuna study in a database, for `optuna-dashboard` to show.

The study is a copy for people: mltune never reads it back, the measurements are the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import optuna
import sqlalchemy.exc
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import URL, make_url

from mltune.errors import MltuneError
from mltune.record.measurement import Status
from mltune.search.searcher import check_answer
from mltune.space.config import Config
from mltune.space.parameter import Parameter

_NUMBER = "trial"
"""The user attribute that tells which of the run's trials a trial of the study is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one config did in a run.

    Attributes:
        number: of the trial in its run.
        value: what the search made small; None if it failed.
        message: why it failed; empty if ok.

    Raises:
        ValueError: when value and status disagree.
    """

    number: int
    config: Config
    value: float | None
    status: Status
    message: str = ""

    def __post_init__(self) -> None:
        check_answer(self.value, self.status)


def mirror(
    trials: Iterable[Trial],
    parameters: Sequence[Parameter],
    url: str | URL,
    study_name: str,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Add to a study those trials that it lacks, and make the study if there is none.

    Args:
        trials: a run's trials; those whose number the study has are passed over.
        parameters: of the space that was searched.
        url: of the database.
        study_name: under which the dashboard lists the study.
        tell: is told after each trial how many are added, and how many were lacking.

    Returns:
        how many trials were added.

    Raises:
        MltuneError: when the database cannot be written, or the study in it is of another space.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = make_url(url)
    where = f"study '{study_name}' in {url.render_as_string()}"
    distributions: dict[str, BaseDistribution] = {
        parameter.name: CategoricalDistribution(parameter.values) for parameter in parameters
    }
    try:
        storage = optuna.storages.RDBStorage(url.render_as_string(hide_password=False))
        try:
            study = optuna.create_study(
                storage=storage, study_name=study_name, load_if_exists=True
            )
            present = {trial.user_attrs.get(_NUMBER) for trial in study.get_trials(deepcopy=False)}
            lacking = [trial for trial in trials if trial.number not in present]
            for done, trial in enumerate(lacking, start=1):
                study.add_trial(_frozen(trial, distributions))
                tell(done, len(lacking))
        finally:
            storage.engine.dispose()
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise MltuneError(f"{where}: {reason}") from error
    except ValueError as error:
        raise MltuneError(f"{where}: holds trials of another space ({error})") from error
    return len(lacking)


def _frozen(trial: Trial, distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    return create_trial(
        state=TrialState.COMPLETE if trial.status is Status.OK else TrialState.FAIL,
        value=trial.value,
        params=dict(trial.config),
        distributions=distributions,
        user_attrs={
            _NUMBER: trial.number,
            "config": trial.config.id,
            "status": trial.status.value,
            **({"message": trial.message} if trial.message else {}),
        },
    )
