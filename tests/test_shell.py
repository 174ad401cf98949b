"""Commands to copy: the shell reads the intended words."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.problem import Contraction, Precision, parse_problem_type
from mltune.selector import Leaf, PortfolioKernel, Selector
from mltune.shell import command, no_c_compiler, pip_path, shell_path
from mltune.space.config import Config
from mltune.workflow.export import next_command


@pytest.mark.parametrize("name", ["a", "a b", "-a", "--json", "a'b", "$(id)", "a\nb", "-", "./-a"])
def test_a_path_is_one_word_and_no_option(name: str) -> None:
    program, word = shlex.split(command("mltune", Path(name)))

    assert program == "mltune"
    assert Path(word) == Path(name)
    assert not word.startswith("-")


def test_plain_paths_stay_as_they_are() -> None:
    assert shell_path(Path("runs/a-b_c.d")) == "runs/a-b_c.d"


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("tuned-python", "./tuned-python"), ("-a b", "'./-a b'"), ("a/b", "a/b"), ("/a", "/a")],
)
def test_pip_takes_a_folder_for_no_package_of_an_index(folder: str, expected: str) -> None:
    assert pip_path(Path(folder)) == expected


@pytest.mark.parametrize(
    ("installed", "is_lacking"),
    [((), True), (("make",), True), (("cc",), True), (("make", "clang"), False)],
)
def test_a_missing_c_compiler_is_named(
    installed: tuple[str, ...], is_lacking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.shell.shutil.which", lambda name: name in installed or None)

    assert ("Debian: gcc make" in no_c_compiler()) is is_lacking


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("sgemm_nn", "mltune export 's x.json' --lang c -o tuned-c"),
        ("zgemm_cn", "mltune export 's x.json' --lang c -o tuned-c"),
        ("hgemm_nn", "mltune export 's x.json' --lang c -o tuned-c"),
    ],
)
def test_the_language_is_one_that_takes_the_problem(problem: str, expected: str) -> None:
    selector = _selector(parse_problem_type(problem))

    assert next_command(selector, Path("s x.json")) == expected


def test_what_is_no_gemm_has_no_export() -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "ik,jkl->ijl")

    assert next_command(_selector(contraction), Path("s.json")) == ""


def _selector(contraction: Contraction) -> Selector:
    kernel = PortfolioKernel(name="k", family="f", config=Config.of({"a": 1}), source_hash="0")
    selector = Selector(
        contraction=parse_problem_type("sgemm_nn"), portfolio=(kernel,), tree=Leaf(0)
    )
    return replace(selector, contraction=contraction)
