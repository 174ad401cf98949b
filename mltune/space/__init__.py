"""The parameters of a kernel, constraints, and the configs that satisfy them.

Import `mltune.space.space` for a bound space and `mltune.space.load` to load one from a file. They
are not imported here, so that a deployed selector, which needs only configs, loads no YAML
library.
"""

from mltune.space.config import Config, Value

__all__ = ["Config", "Value"]
