"""The family `mma`: tensor cores by inline PTX, fed from local memory through cp.async."""

from mltune.kernel.mma.family import MmaFamily

__all__ = ["MmaFamily"]
