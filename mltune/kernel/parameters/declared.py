"""The parameters of the kernel families by name."""

from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.mma import MMA
from mltune.kernel.parameters.packed import PACKED
from mltune.kernel.parameters.register_tile import DIRECT, SMALL
from mltune.kernel.parameters.tiled import TILED
from mltune.kernel.parameters.wgmma import WGMMA

DECLARED: dict[str, FamilyParameters] = {
    each.family: each for each in (TILED, DIRECT, SMALL, MMA, WGMMA, PACKED)
}
