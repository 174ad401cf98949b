"""The family `small`: products of a batch and slices of a sum within one work-group."""

from mltune.kernel.small.family import SmallFamily

__all__ = ["SmallFamily"]
