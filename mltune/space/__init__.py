"""What may vary: parameters, constraints, and the configs that satisfy them.

Import `mltune.space.space` for a bound space and `mltune.space.load` for one from a file: they
are not imported here, so that a deployed selector, which needs configs only, loads no YAML.
"""

from mltune.space.config import Config, Value

__all__ = ["Config", "Value"]
