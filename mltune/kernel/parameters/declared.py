"""The parameters of the kernel families by name."""

from collections.abc import Mapping

from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.mma import MMA
from mltune.kernel.parameters.packed import PACKED
from mltune.kernel.parameters.register_tile import DIRECT, SMALL
from mltune.kernel.parameters.tiled import TILED
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.space.config import Config, Value

DECLARED: dict[str, FamilyParameters] = {
    each.family: each for each in (TILED, DIRECT, SMALL, MMA, WGMMA, PACKED)
}


def defaults_of(family: str) -> Mapping[str, Value]:
    """Return the values of the parameters that a config may lack; nothing for other families."""
    return DECLARED[family].defaults if family in DECLARED else {}


def with_defaults(family: str, config: Config) -> Config:
    """Return a config with the defaults of the parameters that it lacks.

    Configs that are then equal have the same kernel, by different names.
    """
    return Config.of({**defaults_of(family), **config})
