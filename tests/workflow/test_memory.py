from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mltune.workflow import memory
from mltune.workflow.memory import digest, remembered

calls: list[tuple[int, int]] = []


def add(first: int, second: int, *, told: object = None) -> int:
    calls.append((first, second))
    return first + second


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    calls.clear()
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "above" / "cache"))
    return tmp_path / "above" / "cache"


def test_the_same_question_is_answered_once(folder: Path) -> None:
    answers = [remembered(add, "told")(1, 2, told=told) for told in (print, None, 7)]

    assert answers == [3, 3, 3]
    assert calls == [(1, 2)]
    assert remembered(add, "told")(2, 2) == 4
    assert calls == [(1, 2), (2, 2)]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_another_source_of_mltune_answers_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(add)(1, 2)
    monkeypatch.setattr(memory, "_version", lambda: "another")

    assert remembered(add)(1, 2) == 3
    assert calls == [(1, 2)] * 2


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("workflow/report.py", True),
        ("report/style.css", True),
        ("kernel/head.cl", True),
        ("workflow/__pycache__/report.cpython-311.pyc", False),
    ],
)
def test_each_file_of_mltune_counts_but_what_python_makes_of_them(
    tmp_path: Path, name: str, counts: bool
) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("old")
    before = digest(tmp_path)
    file.write_text("new")

    assert (digest(tmp_path) != before) is counts


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x05cno_module\nno_name\n."])
def test_what_cannot_be_read_is_computed_without_a_word(
    folder: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    remembered(add)(1, 2)
    (kept,) = folder.rglob("output.pkl")
    kept.write_bytes(content)

    assert remembered(add)(1, 2) == remembered(add)(1, 2) == 3
    assert calls == [(1, 2)] * 2
    assert not caplog.records


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_neither_read_nor_written(
    folder: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    remembered(add)(1, 2)
    (kept,) = folder.rglob("output.pkl")
    before = kept.stat().st_atime_ns, kept.read_bytes()
    folder.chmod(mode)

    assert remembered(add)(1, 2) == remembered(add)(3, 4) - 4 == 3
    assert calls == [(1, 2), (1, 2), (3, 4)]
    assert len(list(folder.rglob("output.pkl"))) == 1
    assert before[1] == kept.read_bytes()
    assert f"{folder}: nothing is kept there, as others may write to it" in caplog.text


def test_set_to_nothing_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "")

    assert [remembered(add)(1, 2) for _ in range(2)] == [3, 3]
    assert len(calls) == 2
    assert not folder.exists()


def test_the_users_cache_is_where_others_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(memory.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    remembered(add)(1, 2)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    remembered(add)(1, 2)

    assert (tmp_path / "xdg" / "mltune").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "home" / ".cache" / "mltune").rglob("output.pkl"))


def test_without_a_home_folder_nothing_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(memory.VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "~")

    assert [remembered(add)(1, 2) for _ in range(2)] == [3, 3]
    assert len(calls) == 2


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "above").write_text("a file")

    assert remembered(add)(1, 2) == 3


def test_the_cache_does_not_grow_without_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_BYTES", 1000)
    for first in range(20):
        remembered(add)(first, 0)

    assert 0 < len(list(folder.rglob("output.pkl"))) < 10
    shutil.rmtree(folder)
    assert remembered(add)(0, 0) == 0


def test_an_error_is_not_kept(folder: Path) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        remembered(add)(1, "2")  # type: ignore[arg-type]

    assert not list(folder.rglob("output.pkl"))
