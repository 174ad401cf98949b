"""The family `wgmma`: Hopper's tensor cores, fed by whole warpgroups from local memory."""

from mltune.kernel.wgmma.family import WgmmaFamily

__all__ = ["WgmmaFamily"]
