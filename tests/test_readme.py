"""The Python blocks of README and docs run, and their links work."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import mltune
from tests.benchmarks.gain_chart import CHART, FIGURES, draw, read_gains
from tests.quick import QUICK_SPACE

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.glob("docs/*.md"))
TUTORIAL = ROOT / "docs" / "tutorial.md"
FAQ = ROOT / "docs" / "faq.md"
CITATION = ROOT / "CITATION.cff"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS)

RUN_PAGES = {
    "README.md",
    "developing.md",  # by tests/docs/test_examples.py
    "exported.md",
    "faq.md",
    "optuna.md",
    "records.md",
    "tutorial.md",
}


def _commands(text: str) -> tuple[str, ...]:
    found = re.finditer(r"^\$ mltune (.*)", text, re.M)
    return tuple(match[1].partition("  #")[0].strip() for match in found)


def test_the_chain_is_shown_in_order() -> None:
    chain = ["search", "train", "predict", "distil", "export"]

    chapter = TUTORIAL.read_text("utf-8").partition("## 7. The whole chain")[2]

    shown = list(dict.fromkeys(command.split()[0] for command in _commands(chapter)))

    assert [verb for verb in shown if verb in chain] == chain


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_links_to_are_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def _anchors(page: Path) -> set[str]:
    """The names that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)", text, re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_headings_that_a_page_links_to_are_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)", page.read_text("utf-8"))

    assert [
        (name, anchor)
        for name, anchor in links
        if anchor not in _anchors(page.parent / name if name else page)
    ] == []


def test_the_index_of_the_docs_has_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in DOCS if f"({page.name})" not in index] == ["README.md"]


def _python(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def _run(code: str, folder: Path, **names: Any) -> dict[str, Any]:
    """Run a block of a page as a script, with the names that the page has defined before."""
    script = folder / "block.py"
    script.write_text(code, encoding="utf-8")
    return runpy.run_path(str(script), init_globals=names)


@pytest.mark.usefixtures("host_arrays_here")
def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (block,) = _python(ROOT / "README.md")

    found = _run(block, tmp_path)

    np.testing.assert_allclose(found["c"], found["a"] @ found["a"], rtol=1e-3)


@pytest.mark.usefixtures("host_arrays_here")
def test_the_python_of_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = _python(TUTORIAL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").symlink_to(ROOT / "models" / "pthread-amd-epyc" / "sgemm_nn")

    found = _run(block, tmp_path)

    np.testing.assert_allclose(found["c"], found["a"] @ found["a"], rtol=1e-3)


@pytest.mark.usefixtures("host_arrays_here")
def test_the_python_of_the_faq_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = _python(FAQ)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "selectors").symlink_to(ROOT / "models" / "pthread-amd-epyc")

    found = _run(block, tmp_path)

    np.testing.assert_allclose(found["c"], found["a"] @ found["a"], rtol=1e-3)


def test_the_call_from_c_of_the_faq_is_that_of_the_whole_program() -> None:
    (call,) = re.findall(r"^```c\n(.*?)^```", FAQ.read_text("utf-8"), re.M | re.S)
    program = (ROOT / "docs" / "exported.md").read_text("utf-8")

    lines = [line.partition(" /* link")[0].strip() for line in call.splitlines() if line]
    assert [line for line in lines if line not in program] == []


def test_the_faq_cites_what_the_citation_file_says() -> None:
    said = re.findall(
        r"^ *(title|version|license|year): \"?(.*?)\"?$", CITATION.read_text("utf-8"), re.M
    )
    entry = FAQ.read_text("utf-8")

    assert {name for name, _ in said} == {"title", "version", "license", "year"}
    assert [value for _, value in said if f"{{{value}}}" not in entry] == []
    assert dict(said)["version"] == mltune.__version__


def test_the_python_of_the_page_on_libraries_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: cl.CommandQueue
) -> None:
    (block,) = _python(ROOT / "docs" / "exported.md")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "selectors").symlink_to(ROOT / "models" / "pthread-amd-epyc")
    x = np.random.default_rng(0).random((40, 40), np.float32)
    a = cl_array.to_device(queue, x)

    found = _run(f"import mltune\n{block}", tmp_path, a=a, b=a, queue=queue)

    found["event"].wait()
    np.testing.assert_allclose(found["c"].get(), 3 * (x @ x), rtol=1e-3)


@pytest.mark.long
def test_the_python_of_the_page_on_records_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there, name = ROOT / "runs", "2026-11-21-sgemm-nn-nvidia-h200"
    small = "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"
    shutil.copytree(there / name, tmp_path / "runs" / name)
    shutil.copytree(there / small, tmp_path / "runs" / "my-run")
    to_ship, table = _python(ROOT / "docs" / "records.md")

    _run(to_ship, tmp_path)
    found = _run(table, tmp_path)

    assert (tmp_path / "runs" / "my-run-to-ship" / "measurements.csv.gz").exists()
    assert set(found["right"]["status"]) == {"ok"}


def test_every_page_with_python_is_run() -> None:
    assert {page.name for page in PAGES if _python(page)} <= RUN_PAGES


def test_the_chart_is_drawn_from_the_figures_that_ship() -> None:
    assert CHART.read_text("utf-8") == draw(read_gains(FIGURES))


def test_the_first_sentence_is_short() -> None:
    sentence = TEXT.split("\n\n")[1]

    assert sentence.count(".") == 1
    assert len(sentence.split()) <= 25


@pytest.mark.usefixtures("host_arrays_here")
def test_the_python_of_the_page_on_optuna_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device_spec: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-space.yaml").write_text(QUICK_SPACE)
    whole, own = _python(ROOT / "docs" / "optuna.md")
    a, b = (np.random.default_rng(0).random((40, 40), np.float32) for _ in "ab")
    shorter = {'sizes="cpu"': 'sizes="16x16x16"', '"auto"': f'"{device_spec}"', "=60": "=2"}
    for given, here in shorter.items():
        assert given in whole
        whole = whole.replace(given, here)

    found = _run(whole, tmp_path, a=a, b=b)
    np.testing.assert_allclose(found["c"], a @ b, rtol=1e-4)
    assert (tmp_path / "tuned-c" / "Makefile").exists()
    assert found["frame"]["trial"].nunique() == 2

    def my_function(trial: Any) -> float:
        known = trial.study.sampler.infer_relative_search_space(trial.study, None)
        got = {name: trial.suggest_categorical(name, one.choices) for name, one in known.items()}
        return float(got["thread_tile_0"])

    study = _run("import mltune\n" + own.replace("=100", "=3"), tmp_path, my_function=my_function)[
        "study"
    ]
    assert len(study.trials) == 3
