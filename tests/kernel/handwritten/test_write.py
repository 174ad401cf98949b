"""Descriptions written as GEMMbench's files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from mltune.kernel.handwritten.read import read_files
from mltune.kernel.handwritten.write import to_files
from mltune.resources import data_folder

SHIPPED = read_files([data_folder("spaces") / "handwritten"])


def test_they_read_back(tmp_path: Path) -> None:
    wider = replace(
        SHIPPED[0],
        name="wider",
        multiples=(0, 0, 16),
        local_sizes=((8, 8), (4, 16)),
        build_options=("-Ddk=16",),
    )
    given = (*SHIPPED, wider)
    for name, text in to_files(given):
        (tmp_path / name).write_text(text)

    assert read_files([tmp_path]) == given


def test_a_plain_kernel_is_said_in_gemmbenchs_own_words() -> None:
    text = dict(to_files(SHIPPED))["SGEMM_NT_4x1.json"]

    assert list(json.loads(text)) == [
        "name", "file", "type", "transA", "transB", "dj", "di", "function",
    ]  # fmt: skip
