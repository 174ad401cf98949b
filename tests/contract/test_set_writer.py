"""Requirements for every export language of several problem types."""

from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.export import SET_WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.export.writer import SetWriter
from tests.contract.test_writer import KERNELS, SELECTOR

LIBRARY = Library.of(SELECTOR, KERNELS)


@pytest.fixture(params=list(SET_WRITERS))
def writer(request: pytest.FixtureRequest) -> SetWriter:
    return SET_WRITERS[request.param]


def test_is_listed_under_its_name(writer: SetWriter) -> None:
    assert SET_WRITERS[writer.name] is writer


def test_returns_the_files_that_it_wrote_and_writes_the_same_again(
    writer: SetWriter, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "folder"

    files = writer.write(LibrarySet("mltune", (LIBRARY,)), out)

    assert sorted(files) == sorted(path for path in out.rglob("*") if path.is_file())
    assert files[0].name == "README.md"
    texts = [file.read_bytes() for file in files]
    assert writer.write(LibrarySet("mltune", (LIBRARY,)), out) == files
    assert [file.read_bytes() for file in files] == texts


def test_the_name_is_in_every_symbol(writer: SetWriter, tmp_path: Path) -> None:
    for file in writer.write(LibrarySet("fast", (LIBRARY,)), tmp_path):
        if file.suffix in (".c", ".h"):
            assert "mltune_" not in file.read_text(), file.name


def test_everything_says_what_it_holds(writer: SetWriter, tmp_path: Path) -> None:
    readme = writer.write(LibrarySet("mltune", (LIBRARY,)), tmp_path)[0]

    assert "sgemm_nn: C = alpha * A * B + beta * C in single precision" in readme.read_text()


@pytest.mark.parametrize("name", ["", "Fast", "a-b", "x" * 32, "1st"])
def test_a_name_is_a_prefix_in_c(name: str) -> None:
    with pytest.raises(UsageError, match=r"^--name: "):
        LibrarySet(name, (LIBRARY,))
