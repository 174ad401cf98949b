"""The family `tiled`: tiles of A and B in local memory, a tile of C in registers."""

from mltune.kernel.tiled.family import TiledFamily

__all__ = ["TiledFamily"]
