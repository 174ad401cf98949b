"""Writes an export's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import make_folder, write_atomically
from mltune.reading import read_bytes

_README = "README.md"
_MARKS = (
    b"\nWritten by mltune. ",
    b"\nOne library for several problem types, written by mltune. ",
    b"\nA crate without dependencies, for Rust ",
    b'{\n "format": "mltune library",\n',
)
"""Text in every export's README.md, or in its document of JSON."""


def write_files(out: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts under their relative paths into a folder and return the files in order.

    Files of an earlier export are replaced. A folder holds one if its README.md is an export's.

    Raises:
        UsageError: when another's file would be replaced.
        MltuneError: when one cannot be written.
    """
    files = [out / name for name in texts]
    if not _is_export(out / _README):
        for file, text in zip(files, texts.values(), strict=True):
            if file.is_file() and not _is_export(file) and read_bytes(file) != text.encode():
                raise UsageError(
                    f"{file}: is no file of an export, and would be replaced; export into "
                    "another folder"
                )
    for file, text in zip(files, texts.values(), strict=True):
        make_folder(file.parent)
        write_atomically(file, text.encode())
    return files


def _is_export(file: Path) -> bool:
    return file.is_file() and any(mark in read_bytes(file) for mark in _MARKS)
