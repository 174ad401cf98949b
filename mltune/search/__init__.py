"""Which config to try next: searchers behind `ask` and `tell`, by name.

A searcher's libraries are loaded when it is made, not when its name is listed.
"""

from __future__ import annotations

from collections.abc import Callable

from mltune.search.random import RandomSearcher
from mltune.search.searcher import Searcher
from mltune.space.space import Space


def _tpe(space: Space, seed: int) -> Searcher:
    from mltune.search.tpe import TpeSearcher

    return TpeSearcher(space, seed)


SEARCHERS: dict[str, Callable[[Space, int], Searcher]] = {
    "random": RandomSearcher,
    "tpe": _tpe,
}

__all__ = ["SEARCHERS", "Searcher"]
