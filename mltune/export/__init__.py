"""Writes a selector with its kernels as a library in another language."""

from mltune.callable_package import make_callable
from mltune.export.c.c_writer import CWriter
from mltune.export.json_writer import JsonWriter
from mltune.export.python.python_writer import PythonWriter
from mltune.export.rust.rust_writer import RustWriter
from mltune.export.writer import Writer

_ALL: tuple[Writer, ...] = (CWriter(), PythonWriter(), RustWriter(), JsonWriter())

WRITERS: dict[str, Writer] = {writer.name: writer for writer in _ALL}
"""The export languages by name."""

__all__ = ["WRITERS", "Writer"]

make_callable(__name__)
