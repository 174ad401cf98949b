"""Which GEMM calls a program makes: a library in C that is loaded into it, and what it counted."""

from mltune.trace.library import build_library
from mltune.trace.table import Seen, read_tables

__all__ = ["Seen", "build_library", "read_tables"]
