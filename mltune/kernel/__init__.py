"""Source text per kernel family."""

from mltune.kernel.kernel import Kernel, KernelFamily, Launch

__all__ = ["Kernel", "KernelFamily", "Launch"]
