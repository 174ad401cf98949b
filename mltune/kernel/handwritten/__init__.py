"""The family `handwritten`: a user's own OpenCL kernels, described as GEMMbench describes them."""

from mltune.kernel.handwritten.description import Description
from mltune.kernel.handwritten.family import FamilyBeside, HandwrittenFamily

__all__ = ["Description", "FamilyBeside", "HandwrittenFamily"]
