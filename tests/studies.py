"""A study in memory, used like the tuning loop's, for tests of samplers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import optuna
from optuna.trial import FrozenTrial

from mltune.measurement import Status
from mltune.search.planned_sizes import PlannedSizesPruner
from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.union import FAMILY, members_of
from mltune.tuning.study import Proposal, TuningStudy
from mltune.tuning.trial import Trial
from tests.made_up import build_measurement

Values = Mapping[int, float] | float | Status
"""The result of a config: seconds by size, seconds of the only size, or a failure."""

Step = tuple[Config, tuple[int, ...]]
"""A proposed config, and the sizes that are worth timing."""


class Asked:
    """Asks a sampler through a study, and tells it the results.

    Args:
        sampler: a sampler of any space.
        sizes: the number of sizes.
        given: configs that take turns with the sampler's.
        others: the parameters of `given`.
    """

    def __init__(
        self,
        sampler: ConfigSampler,
        sizes: int = 1,
        given: Iterable[Config] = (),
        others: Sequence[Parameter] = (),
    ) -> None:
        self.sampler = sampler
        self._sizes = sizes
        made = optuna.create_study(sampler=sampler, pruner=PlannedSizesPruner())
        families = tuple(dict.fromkeys(member.family for member in members_of(sampler._space)))
        foreign = {parameter.name for parameter in others}

        def family_of(config: Config) -> str:
            return "other" if foreign & set(config) else str(config.get(FAMILY, families[0]))

        self.study = TuningStudy(made, sizes, (*families, "other"), family_of, given, others)

    @property
    def trials(self) -> list[FrozenTrial]:
        """The trials of the study."""
        return self.study.study.get_trials(deepcopy=False)

    def ask(self) -> Proposal | None:
        """Return the next proposal; None when there is none left."""
        return self.study.ask()

    def config(self) -> Config | None:
        """Return the config of the next proposal, which is left running."""
        proposal = self.ask()
        return None if proposal is None else proposal.config

    def sizes(self, proposal: Proposal) -> tuple[int, ...]:
        """The sizes on which a proposal is worth timing."""
        return tuple(range(self._sizes)) if proposal.sizes is None else proposal.sizes

    def tell(self, proposal: Proposal, values: Values) -> FrozenTrial:
        """Tell the result of a proposal."""
        found = _by_size(values)
        self.study.begin(proposal, proposal.number)
        for size, value in found.items():
            proposal.report(size, value)
        return self.finish(proposal, found, values if isinstance(values, Status) else Status.OK)

    def finish(
        self, proposal: Proposal, found: Mapping[int, float], status: Status = Status.OK
    ) -> FrozenTrial:
        """Tell how a proposal ended whose values were reported."""
        outcome = 1.0 if status is Status.OK else status
        row = build_measurement(proposal.number, 8, outcome, config=proposal.config)
        return self.study.tell(proposal, Trial(proposal.number, proposal.config, (row,)), found)

    def learn(self, config: Config, values: Values) -> None:
        """Add a trial that ended earlier or elsewhere."""
        status = values if isinstance(values, Status) else Status.OK
        self.study.learn(self.study.frozen(config, _by_size(values), status))

    def step(self, answer: Callable[[Config, tuple[int, ...]], Values]) -> Step | None:
        """Ask and tell once."""
        proposal = self.ask()
        if proposal is None:
            return None
        sizes = self.sizes(proposal)
        self.tell(proposal, answer(proposal.config, sizes))
        return proposal.config, sizes

    def steps(
        self, answer: Callable[[Config, tuple[int, ...]], Values], count: int = 2**31
    ) -> list[Step]:
        """Ask and tell up to `count` times, or until nothing is left."""
        made: list[Step] = []
        while len(made) < count and (step := self.step(answer)) is not None:
            made.append(step)
        return made


def _by_size(values: Values) -> dict[int, float]:
    if isinstance(values, Status):
        return {}
    return {0: float(values)} if isinstance(values, float | int) else dict(values)
