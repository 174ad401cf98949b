"""Spaces of kernel families: what a family says of its parameters holds in all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space, parse_space
from mltune.problem import Precision, gemm
from mltune.resources import data_folder
from mltune.space.names import precision_names
from mltune.space.space import Space
from tests.spaces import LIMITS

TEXT = """\
name: mine
family: tiled
parameters:
  work_group_0: [8, 16]
  work_group_1: {values: [8, 16], meaning: my own words}
  thread_tile_0: [1, 2, 4, 6]
  thread_tile_1: [4]
  depth_u: [8, 12, 16]
  local_split_u: [1, 2, 3, 8]
  vector_width: [1, 2, 4]
  vector_width_u: [0, 2, 4]
  prefetch_global_read: [0, 1]
  local_buffers: [1, 2, 3]
  global_to_local: [registers, async]
  local_pad: [0, 4]
  loop_unroll: [1, 2, 4]
  work_group_mapping: [8]
  multiply_add: [expr]
  vector_access: [cast, vload]
  global_split_u: [1, 2]
  global_split_u_algorithm: [multiple, single, red]
  persistent_kernel: [0, 1]
  stream_k: [0, 1]
"""


def bound(text: str, precision: Precision, **limits: int) -> Space:
    return parse_space(text, "t.yaml").bind({**LIMITS, **limits, **precision_names(precision)})


@pytest.mark.parametrize("precision", list(Precision))
def test_configs_of_a_space_without_constraints_are_those_that_its_family_writes(
    precision: Precision,
) -> None:
    space = bound(TEXT, precision)
    refused: list[str] = []
    for config in space.sample(np.random.default_rng(1), 60):
        try:
            FAMILIES["tiled"].generate(gemm(precision), config)
        except UsageError as error:
            refused.append(str(error))

    # Which vectors are copied depends on the contraction, too.
    assert all("async" in message for message in refused)


def test_where_a_parameter_changes_nothing_it_has_one_value() -> None:
    space = bound(TEXT, Precision.SINGLE)

    for config in space.sample(np.random.default_rng(2), 200):
        assert config["global_split_u"] != 1 or config["global_split_u_algorithm"] == "multiple"
        assert config["global_to_local"] == "registers" or config["prefetch_global_read"] == 0


def test_the_limits_of_the_device_hold() -> None:
    double = bound(TEXT, Precision.DOUBLE, int64_atomics=0)
    old = bound(TEXT, Precision.SINGLE, compute_capability=50)

    for config in double.sample(np.random.default_rng(3), 200):
        assert config["global_split_u_algorithm"] != "single"
    for config in old.sample(np.random.default_rng(3), 200):
        assert config["global_to_local"] == "registers"
        assert config["global_split_u_algorithm"] != "red"


def test_a_value_alone_stays_where_it_changes_nothing() -> None:
    text = TEXT.replace("global_split_u: [1, 2]", "global_split_u: [1]")
    space = bound(text.replace("[multiple, single, red]", "[single]"), Precision.SINGLE)

    assert space.at(0)["global_split_u_algorithm"] == "single"


def test_meanings_are_the_familys_where_the_file_has_none() -> None:
    first, second, *_ = parse_space(TEXT, "t.yaml").parameters

    assert first.meaning == "work-items of a work-group along d0"
    assert second.meaning == "my own words"


def test_a_space_of_another_family_is_left_as_it_is() -> None:
    space = parse_space("name: a\nfamily: woven\nparameters: {x: [1, 2]}\n", "t.yaml")

    assert space.constraints == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("local_pad:", "local_pud:", ":15: kernel family tiled: unknown parameter 'local_pud' "),
        (
            "[1, 2, 4]\n  vector_width_u",
            "[1, 3]\n  vector_width_u",
            ":10: parameter 'vector_width': kernel family tiled: must be 1, 2, 4, 8 or 16, got 3",
        ),
        (
            "[cast, vload]",
            "[cast, dma]",
            ":19: parameter 'vector_access': kernel family tiled: must be cast or vload, ",
        ),
        (
            "  work_group_mapping: [8]\n  multiply_add: [expr]\n",
            "",
            ":4: kernel family tiled: 'parameters' lacks work_group_mapping, multiply_add",
        ),
    ],
)
def test_a_file_that_names_what_the_family_does_not_have_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "s.yaml"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))

    with pytest.raises(UsageError) as caught:
        load_space(path)

    assert str(caught.value).startswith(f"{path}{message}")


def test_a_space_whose_every_config_breaks_a_limit_is_refused() -> None:
    text = TEXT.replace("persistent_kernel: [0, 1]", "persistent_kernel: [1]")
    text = text.replace("global_split_u: [1, 2]", "global_split_u: [2]")

    with pytest.raises(
        UsageError, match=r"t.yaml:\d+: kernel family tiled: no config of the space satisfies"
    ):
        parse_space(text, "t.yaml")


def test_the_example_of_the_page_on_spaces_is_a_space(tmp_path: Path) -> None:
    page = (data_folder("spaces") / "README.md").read_text()
    (tmp_path / "mine.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0])

    space = load_space(tmp_path / "mine.yaml").bind(
        {**LIMITS, **precision_names(Precision.SINGLE)}
    )

    assert space.size > 100
    assert space.default is not None
    assert space.default["thread_tile_0"] == 8
    for config in space.sample(np.random.default_rng(4), 50):
        FAMILIES["direct"].generate(gemm(Precision.SINGLE), config)
