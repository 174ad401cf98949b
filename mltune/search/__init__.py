"""Which config to try next: searchers behind `ask` and `tell`, by name.

A searcher's libraries are loaded when it is made, not when its name is listed.
"""

from __future__ import annotations

from collections.abc import Callable

from mltune.search.evolution import EvolutionSearcher
from mltune.search.exhaustive import ExhaustiveSearcher
from mltune.search.random import RandomSearcher
from mltune.search.searcher import Searcher
from mltune.space.config_space import ConfigSpace


def _tpe(space: ConfigSpace, seed: int) -> Searcher:
    from mltune.search.tpe import TpeSearcher

    return TpeSearcher(space, seed)


def _guided(space: ConfigSpace, seed: int) -> Searcher:
    from mltune.search.guided import GuidedSearcher

    return GuidedSearcher(space, seed)


SEARCHERS: dict[str, Callable[[ConfigSpace, int], Searcher]] = {
    "evolution": EvolutionSearcher,
    "exhaustive": ExhaustiveSearcher,
    "guided": _guided,
    "random": RandomSearcher,
    "tpe": _tpe,
}

__all__ = ["SEARCHERS", "Searcher"]
