"""Sums that several work-groups share: what the families that can split one have in common."""

from mltune.kernel.split_sum.split_sum import SplitSum, Sums

__all__ = ["SplitSum", "Sums"]
