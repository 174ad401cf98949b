"""The family `direct`: no local memory, vectors from global memory to registers."""

from mltune.kernel.direct.family import DirectFamily

__all__ = ["DirectFamily"]
