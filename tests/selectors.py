"""Parts of selectors, for tests that make their own."""

from __future__ import annotations

from mltune.kernel import Kernel
from mltune.selector import PortfolioKernel


def entry_of(kernel: Kernel) -> PortfolioKernel:
    """A generated kernel as an entry of a portfolio."""
    return PortfolioKernel(
        name=kernel.name,
        family=kernel.family,
        config=kernel.config,
        source_hash=kernel.source_hash,
    )
