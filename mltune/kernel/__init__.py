"""Source text per kernel family."""

from mltune.kernel.kernel import Kernel, KernelFamily, Launch
from mltune.kernel.limits import Limits

__all__ = ["Kernel", "KernelFamily", "Launch", "Limits"]
