"""Exported C keeps the binaries of its kernels on disk, and uses no binary of another user."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.export import SET_WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet

Run = Callable[[], int]
HEAD_BYTES = 49


@pytest.fixture(scope="module")
def program(
    tiled: Callable[..., Library],
    compile_opencl: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    files = SET_WRITERS["c"].write(LibrarySet("mltune", (tiled("sgemm_nn"),)), folder)
    sources = [file for file in files if file.suffix == ".c" and file.name != "example.c"]
    wrapped = ("-Wl,--wrap=clCreateProgramWithSource", f"-I{folder}", "-fsanitize=address")
    source = Path(__file__).with_name("kept.c")
    return compile_opencl(folder / "kept", source, *sources, *wrapped)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder of the binaries."""
    return tmp_path / "cache" / "binaries"


@pytest.fixture
def environment(kept: Path, opencl_environment: dict[str, str]) -> dict[str, str]:
    return {**opencl_environment, "MLTUNE_CACHE_DIR": str(kept.parent)}


@pytest.fixture
def compiled(program: Path, environment: dict[str, str]) -> Run:
    """Start a process, and return how many kernels it compiled."""

    def run() -> int:
        done = subprocess.run(
            [program], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return int(done.stdout)

    return run


def test_the_next_process_compiles_nothing(compiled: Run, kept: Path) -> None:
    assert [compiled(), compiled()] == [1, 0]

    (file,) = kept.iterdir()
    assert (kept.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "head"])
def test_a_damaged_file_is_written_again(damage: str, compiled: Run, kept: Path) -> None:
    compiled()
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut": whole[:-10],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "empty": b"",
        "head": whole[:HEAD_BYTES],
    }
    file.write_bytes(damaged[damage])

    assert compiled() == 1
    assert len(file.read_bytes()) > HEAD_BYTES
    assert compiled() == 0


def test_what_a_stranger_could_have_written_is_not_used(compiled: Run, kept: Path) -> None:
    compiled()
    (file,) = kept.iterdir()
    for path, mode in ((file, 0o620), (file, 0o602), (kept, 0o770), (kept, 0o703)):
        before = path.stat().st_mode
        path.chmod(mode)
        assert compiled() == 1, (path, mode)
        path.chmod(before)
    compiled()
    if os.geteuid() == 0:
        for path in (file, kept):
            os.chown(path, 12345, -1)
            assert compiled() == 1, path
            os.chown(path, 0, -1)
    elsewhere = kept.with_name("elsewhere")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert compiled() == 1
    assert not file.is_symlink()
    kept.rename(kept.with_name("folder"))
    kept.symlink_to(kept.with_name("folder"))
    assert compiled() == 1


@pytest.mark.parametrize("named", ["", "/proc/none", "{file}", "{file}/x", "{long}"])
def test_without_a_folder_it_works_all_the_same(
    named: str, compiled: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    environment["MLTUNE_CACHE_DIR"] = named.format(file=tmp_path / "file", long="/x" * 3000)

    assert [compiled(), compiled()] == [1, 1]


def test_any_number_may_write_at_once(
    program: Path, environment: dict[str, str], kept: Path
) -> None:
    processes = [
        subprocess.Popen([program], env=environment, stdout=subprocess.PIPE) for _ in range(6)
    ]

    assert [process.wait() for process in processes] == [0] * 6
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    assert len(list(kept.iterdir())) == 1  # and no temporary files
