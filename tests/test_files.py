from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mltune.errors import MltuneError, UsageError
from mltune.files import (
    cache_folder,
    file_error,
    make_folder,
    refuse_unwritable,
    take_lock,
    write_atomically,
)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_may_write_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"

    def fsync(file: int) -> None:
        monkeypatch.undo()
        write_atomically(path, b"of another thread")

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_who_finds_a_lock_taken_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with take_lock(path, 0) as is_held, take_lock(path, 0) as is_held_again:
        assert (is_held, is_held_again) == (True, False)
    with take_lock(path, 0) as is_held:
        assert is_held


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes of this kind")
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"new")
        assert os.read(reader, 9) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_and_the_file_that_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "run.json"
    link.symlink_to(target)
    for text in (b"old", b"new"):
        write_atomically(link, text)

    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


def test_what_cannot_be_replaced_stays(
    open_folder: Path, read_only: Callable[[Path], AbstractContextManager[None]]
) -> None:
    path = open_folder / "run.json"
    path.write_bytes(b"old")
    with read_only(open_folder), pytest.raises(UsageError) as refused:
        write_atomically(path, b"new")

    assert str(refused.value) == f"{path}: cannot write (Permission denied)"
    assert path.read_bytes() == b"old"
    assert list(open_folder.iterdir()) == [path]


def test_what_cannot_be_written_is_refused_before(
    open_folder: Path, read_only: Callable[[Path], AbstractContextManager[None]]
) -> None:
    path = open_folder / "calls.csv"
    refuse_unwritable(path)
    refuse_unwritable(Path(os.devnull))
    with (
        read_only(open_folder),
        pytest.raises(UsageError, match=r"calls\.csv: cannot write \(Permission denied\)"),
    ):
        refuse_unwritable(path)


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_folder_is_no_file(place: str) -> None:
    with pytest.raises(UsageError, match=r"^[./]+: cannot write \(Is a directory\)$"):
        write_atomically(Path(place), b"")
    with pytest.raises(UsageError, match=r"^[./]+: cannot write \(Is a directory\)$"):
        refuse_unwritable(Path(place))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "run.json"

    with pytest.raises(UsageError, match=r"run\.json: cannot write \(No such file or directory\)"):
        write_atomically(path, b"")


def test_a_full_disk_is_not_the_users_mistake() -> None:
    error = file_error(Path("run.json"), "write", OSError(errno.ENOSPC, "No space left on device"))

    assert type(error) is MltuneError
    assert str(error) == "run.json: cannot write (No space left on device)"


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()

    with pytest.raises(UsageError, match="file: is a file, not a folder"):
        make_folder(path)
    with pytest.raises(UsageError, match="cannot make this folder"):
        make_folder(path / "below")


def test_a_cache_is_where_its_variable_says_else_below_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.delenv("OF_A_TEST", raising=False)
    assert cache_folder("a", "b", variable="OF_A_TEST") == Path("/xdg/a/b")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/of")
    assert cache_folder("a") == Path("/home/of/.cache/a")
    monkeypatch.setenv("OF_A_TEST", str(tmp_path))
    assert cache_folder("a", variable="OF_A_TEST") == tmp_path
    monkeypatch.setenv("OF_A_TEST", "")
    assert cache_folder("a", variable="OF_A_TEST") is None


def test_without_a_home_folder_there_is_only_a_cache_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "~")  # as for a user without an entry in passwd
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("OF_A_TEST", str(tmp_path))

    assert cache_folder("a") is None
    assert cache_folder("a", variable="OF_A_TEST") == tmp_path
