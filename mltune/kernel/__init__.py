"""Source text per kernel family."""

from mltune.kernel.kernel import Kernel, KernelFamily, Launch
from mltune.kernel.limits import Limits
from mltune.kernel.passes import Area, Pass

__all__ = ["Area", "Kernel", "KernelFamily", "Launch", "Limits", "Pass"]
