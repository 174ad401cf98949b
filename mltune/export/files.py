"""Writes an export's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mltune.files import make_folder, write_atomically


def write_files(out: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts under their relative paths into a folder and return the files in order.

    Raises:
        MltuneError: when one cannot be written.
    """
    files = [out / name for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        make_folder(file.parent)
        write_atomically(file, text.encode())
    return files
