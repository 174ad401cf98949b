"""Records the GEMM calls of a program, by a library in C that is preloaded into it."""

from mltune.trace.library import build_library
from mltune.trace.table import Seen, read_tables

__all__ = ["Seen", "build_library", "read_tables"]
