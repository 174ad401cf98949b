"""The folders of data that ship with mltune: `spaces/`, `models/`, `runs/`."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """Return the folder of shipped data called `name`, in a wheel or in a source tree.

    A wheel has the top-level folders inside the package, a source tree has them beside it.
    """
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name
