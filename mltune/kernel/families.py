"""The kernel families by name."""

from mltune.kernel.direct import DirectFamily
from mltune.kernel.kernel import KernelFamily
from mltune.kernel.mma import MmaFamily
from mltune.kernel.packed import PackedFamily
from mltune.kernel.small import SmallFamily
from mltune.kernel.tiled import TiledFamily
from mltune.kernel.wgmma import WgmmaFamily

FAMILIES: dict[str, KernelFamily] = {
    family.name: family
    for family in (
        TiledFamily(),
        DirectFamily(),
        SmallFamily(),
        MmaFamily(),
        WgmmaFamily(),
        PackedFamily(),
    )
}
