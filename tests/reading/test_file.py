"""Files from strangers: regular files of a size that can be read."""

import gzip
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.compat.foreign import read_recording
from mltune.cost_model.io import load
from mltune.errors import UsageError
from mltune.kernel.handwritten.read import read_files
from mltune.problem.size_file import read_size_file
from mltune.reading import read_bytes, read_packed, read_text
from mltune.run.csv_table import read_table
from mltune.run.database import file_url
from mltune.run.run import read_info
from mltune.run.store import Store
from mltune.selector.json import read_selector
from mltune.space.load import load_space
from mltune.workflow.candidates import Candidates


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a", read_bytes),
        ("a", read_text),
        ("a", read_packed),
        ("selector.json", read_selector),
        ("space.yaml", lambda path: load_space(str(path))),
        ("sizes.csv", read_size_file),
        ("sizes.yaml", read_size_file),
        ("kernel.json", lambda path: read_files([path])),
        ("cache.json", read_recording),
        ("measurements.csv.gz", read_table),
        ("run.json", lambda path: read_info(path.parent)),
        ("run.db", lambda path: Store(file_url(path), read_only=True).measurements()),
        ("model.json", lambda path: load(path.parent)),
        ("candidates.json", lambda path: Candidates.read(path.parent)),
    ],
)
def test_a_pipe_is_refused_and_not_waited_for(
    name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / name)

    with pytest.raises(UsageError, match=f"{name}: is a named pipe, not a file"):
        read(tmp_path / name)


def test_a_device_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^/dev/zero: is a device, not a file$"):
        read_bytes(Path("/dev/zero"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(UsageError, match=r"huge: is larger than 256 MiB$"):
        read_bytes(tmp_path / "huge")


def test_what_has_no_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK)
    for path, message in (
        (tmp_path, "cannot read (Is a directory)"),
        (tmp_path / "none", "cannot read (No such file or directory)"),
        (tmp_path / "loop", "cannot read (Too many levels of symbolic links)"),
        (tmp_path / ("a" * 300), "cannot read (File name too long)"),
        (tmp_path / "socket", "is a socket, not a file"),
        (tmp_path / "a\0b", "cannot read (no file can have this name)"),
    ):
        with pytest.raises(UsageError) as caught:
            read_bytes(path)
        assert str(caught.value).endswith(message)


def test_the_byte_order_mark_of_windows_is_no_part_of_a_text(tmp_path: Path) -> None:
    cache = '{"tune_params_keys": ["x"], "cache": {"a": {"x": 1, "time": 2.0}}}'
    whole, cut = (gzip.compress(f"\ufeff{text}".encode()) for text in (cache, cache + " " * 99))
    files = {"plain": f"\ufeff{cache}".encode(), "packed": whole, "cut": cut[:-9]}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    assert read_text(tmp_path / "plain") == cache
    assert [read_recording(tmp_path / name).optimum_seconds for name in files] == [0.002] * 3


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")

    assert read_text(tmp_path / "link") == "text"
