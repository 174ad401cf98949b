"""What may vary: parameters, constraints, and the configs that satisfy them."""

from mltune.space.config import Config, Value

__all__ = ["Config", "Value"]
