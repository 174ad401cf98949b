import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.selector.json import read_selector
from tests.ptx_texts import TWO_STEPS

Make = Callable[..., Library]


def test_the_document_has_the_selector_and_all_that_a_launch_needs(
    tiled: Make, tmp_path: Path
) -> None:
    library = tiled("sgemm_tn")

    (file,) = WRITERS["json"].write(library.selector, library.kernels, tmp_path)
    data = json.loads(file.read_text())

    assert file.name == "mltune_sgemm_tn.json"
    assert (data["problem_type"], data["memory_orders"], data["batched"]) == (
        "sgemm_tn",
        "CFF",
        False,
    )
    assert data["computes"] == "C = alpha * A^T * B + beta * C"
    for entry, kernel in zip(data["kernels"], library.kernels, strict=True):
        assert entry["name"] == kernel.name
        assert entry["source"] == kernel.source
        assert tuple(entry["build_options"]) == kernel.build_options
        assert [each["name"] for each in entry["arguments"]] == [a.name for a in kernel.arguments]
        assert entry["arguments"][5] == {"name": "size_i", "kind": "uint", "value": "rows"}
        assert tuple(entry["work_group"]) == kernel.work_group
        assert tuple(entry["macro_tile"]) == kernel.macro_tile
        assert [each["entry"] for each in entry["passes"]] == [p.entry for p in kernel.passes]
        assert [area["copies"] for area in entry["scratch"]] == [a.copies for a in kernel.scratch]
    (tmp_path / "selector.json").write_text(json.dumps(data["selector"]))
    assert read_selector(tmp_path / "selector.json") == library.selector


def test_the_document_says_which_kernels_are_built_in_two_steps(
    tiled: Make, tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    first, last = library.kernels
    kernels = (first, replace(last, source=last.source + TWO_STEPS))

    (file,) = WRITERS["json"].write(library.selector, kernels, tmp_path)

    built = [each["two_steps"] for each in json.loads(file.read_text())["kernels"]]
    assert built == [False, True]
