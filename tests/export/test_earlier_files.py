"""Which files in its folder an export replaces."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UsageError
from mltune.export import SET_WRITERS, WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet

Make = Callable[..., Library]
NAMES = (*WRITERS, "set", "clblast", "full")


def _write(name: str, library: Library, out: Path) -> list[Path]:
    if name in ("set", "clblast"):
        writer = SET_WRITERS["c" if name == "set" else name]
        return writer.write(LibrarySet("mine", (library,)), out)
    writer_of_one = FullCWriter() if name == "full" else WRITERS[name]
    return writer_of_one.write(library.selector, library.kernels, out)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_an_earlier_export_are_replaced(name: str, tiled: Make, tmp_path: Path) -> None:
    files = _write(name, tiled("sgemm_tn"), tmp_path)
    written = [file.read_bytes() for file in files]
    for file in files:
        file.write_bytes(file.read_bytes() + b"\n")

    assert _write(name, tiled("sgemm_tn"), tmp_path) == files
    assert [file.read_bytes() for file in files] == written


@pytest.mark.parametrize("name", NAMES)
def test_another_file_is_not_replaced(name: str, tiled: Make, tmp_path: Path) -> None:
    file = _write(name, tiled("sgemm_tn"), tmp_path / "elsewhere")[-1]
    own = tmp_path / "own" / file.relative_to(tmp_path / "elsewhere")
    own.parent.mkdir(parents=True)
    own.write_text("own")

    with pytest.raises(UsageError, match=rf"^{own}: is no file of an export"):
        _write(name, tiled("sgemm_tn"), tmp_path / "own")

    assert [file for file in (tmp_path / "own").rglob("*") if file.is_file()] == [own]
    assert own.read_text() == "own"
