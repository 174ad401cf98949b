"""Control characters in a bundle, a device's name or a path are shown, and not obeyed."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.cli.streams import PlainStream, plain_output, printable
from mltune.run.bundle import write_bundle
from mltune.run.run import Run
from tests.cli.conftest import Command

TITLE = "\x1b]0;owned\x07"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, \u00e9\t1\n", "plain, \u00e9\t1\n"),
        (TITLE, "\\x1b]0;owned\\x07"),
        ("a\rb\x9b2Jc", "a\\rb\\x9b2Jc"),
        ("\u202eevil\ud800", "\\u202eevil\\ud800"),
    ],
)
def test_only_line_ends_and_tabs_are_obeyed(text: str, shown: str) -> None:
    memory = io.StringIO()
    PlainStream(memory).write(text)

    assert memory.getvalue() == printable(text) == shown


def test_a_stream_that_lacks_a_letter_gets_its_escape() -> None:
    memory = io.BytesIO()
    stream = io.TextIOWrapper(memory, encoding="ascii", write_through=True)
    print("caf\u00e9", file=PlainStream(stream))

    assert memory.getvalue() == b"caf\\xe9\n"


def test_the_streams_are_put_back() -> None:
    before = sys.stdout, sys.stderr
    with plain_output():
        assert isinstance(sys.stdout, PlainStream)
    assert (sys.stdout, sys.stderr) == before


def test_a_bundle_s_escapes_reach_no_terminal(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    with Run.open(finished_run) as run:
        write_bundle(run, f"CC0{TITLE}", tmp_path / "b.json.gz")
    document = json.loads(gzip.decompress((tmp_path / "b.json.gz").read_bytes()))
    for name in ("name", "platform", "driver_version"):
        document["run"]["device"][name] += TITLE
    document["run"]["created"] = TITLE
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))

    done = [mltune("import", tmp_path / "b.json.gz", "-o", tmp_path / name) for name in "ab"]
    folders = [next(path.parent for path in (tmp_path / name).rglob("run.json")) for name in "ab"]
    done.append(mltune("compare", *folders))
    done.append(mltune("report", folders[0]))

    for outcome in done:
        assert outcome.code == 0, outcome.err
        assert "\x1b" not in outcome.out + outcome.err
        assert "\x07" not in outcome.out + outcome.err
    assert "\\x1b]0;owned\\x07" in done[0].err
    assert "\\x1b]0;owned\\x07" in done[2].out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_verb_works_where_standard_streams_are_closed(closed: str, finished_run: Path) -> None:
    shell = ("sh", "-c", f'exec "$@" {closed}', "sh")
    command = (*shell, sys.executable, "-m", "mltune", "replay", str(finished_run), "1")
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert ("recorded" in done.stdout) is (">&-" not in closed.split())


@pytest.mark.parametrize("verb", [("import",), ("report",), ("compare", "x"), ("distil",)])
def test_a_path_that_is_no_text_is_one_line(verb: tuple[str, ...], tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"r\xff\xfe")  # noqa: PTH118  # bytes are no Path
    command = [sys.executable.encode(), b"-m", b"mltune", *(word.encode() for word in verb), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.endswith(
        "r\\udcff\\udcfe: is no UTF-8 text, which names of files must be\n"
    )
    assert done.stderr.count("\n") == 1


def test_the_next_command_can_be_copied(
    mltune: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "-my run; touch x"
    shutil.copytree(finished_run, run)

    distil = mltune("distil", "./-my run; touch x", "-o", "./-my selector.json")
    export = mltune("export", "./-my selector.json", "--lang", "python", "-o", "./-a b")
    plain = mltune("export", "./-my selector.json", "--lang", "python", "-o", "plain")
    report = mltune("report", "./-my run; touch x", "-o", "r.html")
    again = mltune("search", "--resume", "--run", "./-my run; touch x")

    assert "next: mltune export './-my selector.json' --lang c -o tuned-c" in distil.out
    assert "next: pip install './-a b'" in export.out
    assert "next: pip install ./plain" in plain.out
    assert "next: mltune distil './-my run; touch x'" in report.out
    assert "id: mltune replay './-my run; touch x' ID" in again.out


@pytest.mark.parametrize("is_lacking", [True, False])
def test_a_missing_c_compiler_is_named_before_the_next_command(
    mltune: Command,
    selector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_lacking: bool,
) -> None:
    monkeypatch.setattr("mltune.shell.shutil.which", lambda name: None if is_lacking else name)

    said = mltune("export", selector, "--lang", "c", "-o", tmp_path / "c").out.splitlines()

    assert said[-1].startswith("next: make -C ")
    assert said[-2].startswith("first install a C compiler and make") is is_lacking
