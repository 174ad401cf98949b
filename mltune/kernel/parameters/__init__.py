"""The parameters of every kernel family, each declared once."""

from mltune.kernel.parameters.declared import DECLARED

__all__ = ["DECLARED"]
