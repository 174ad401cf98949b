"""Boosted trees on rows drawn anew: where several forests differ, their answer is in doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bagging:
    """How the forests grow: small and quickly, as they are grown many times in a search.

    Attributes:
        forests: each sees rows drawn with replacement; a single one sees all rows once.
        trees: of each forest.
        rate: what a tree counts.
    """

    forests: int = 3
    trees: int = 80
    rate: float = 0.1

    def predict(self, features: Array, target: Array, asked: Array, seed: int = 0) -> Array:
        """Learn from some rows, and return what each forest says of others, a row a forest.

        Args:
            features: of rows whose target is known.
            target: theirs.
            asked: features of the others.
            seed: of what is drawn.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor  # takes a second to load
        from threadpoolctl import threadpool_limits

        rng = np.random.default_rng(seed)
        answers = np.empty((self.forests, len(asked)))
        # One thread, as in train.py: OpenMP spins where others work.
        with threadpool_limits(limits=1, user_api="openmp"):
            for number in range(self.forests):
                drawn = np.arange(len(target))
                if self.forests > 1:
                    drawn = rng.integers(len(target), size=len(target))
                model = HistGradientBoostingRegressor(
                    max_iter=self.trees,
                    learning_rate=self.rate,
                    max_leaf_nodes=31,
                    min_samples_leaf=5,
                    l2_regularization=1.0,
                    max_features=0.5,
                    early_stopping=False,
                    random_state=seed + number,
                )
                model.fit(features[drawn], target[drawn])
                answers[number] = model.predict(asked)
        return answers
