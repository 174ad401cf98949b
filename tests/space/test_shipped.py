"""Spaces by name: shipped ones, files, and several at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import Precision, gemm, parse_problem_type
from mltune.space.load import load_space
from mltune.space.names import outside_names
from mltune.space.shipped import AUTO_SPACES, find_space, label_of, split_names
from tests import devices
from tests.spaces import SHIPPED, each_of

SMALL = replace(
    devices.GPU, wave_size=1, max_work_group_size=64, local_mem_bytes=16384, name="small"
)


def test_names_are_separated_by_commas_or_given_one_by_one(tmp_path: Path) -> None:
    odd = tmp_path / "a,b.yaml"
    odd.write_text("")

    assert split_names("direct, small") == ("direct", "small")
    assert split_names(["direct", "small,direct"]) == ("direct", "small")
    assert split_names(odd) == (str(odd),)
    with pytest.raises(UsageError, match="a name is empty in 'direct,'"):
        split_names("direct,")
    with pytest.raises(UsageError, match="a name is empty in ''"):
        split_names([])


@pytest.mark.parametrize("name", ["mma-nvidia", "spaces/mma-nvidia.yaml"])
def test_a_space_that_ships_is_found_from_anywhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    path = find_space(name)
    assert load_space(path).name == "mma-nvidia"
    assert label_of(name, path) == "mma-nvidia.yaml"


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("direct").write_text("")

    assert find_space("direct") == Path("direct")
    path = str(tmp_path / "direct")
    assert label_of(path, find_space(path)) == path


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"unknown space 'mma' \(.*known: auto, direct, "):
        find_space("mma")
    # reading them reports what is wrong
    for path in (Path("some/mma-nvidia.yaml"), Path("mma-nvidia.yaml")):
        assert find_space(str(path)) == path


@pytest.mark.parametrize(
    ("problem", "values"),
    [
        ("hgemm_nn", (4, 2, 1, 0, 0, 2)),
        ("zgemm_nn", (16, 16, 2, 0, 0, 16)),
        ("sgemm_nn_bf16_relu", (4, 4, 1, 1, 1, 2)),
    ],
)
def test_rules_may_use_the_sizes_of_elements(problem: str, values: tuple[int, ...]) -> None:
    found = outside_names(SMALL, parse_problem_type(problem))

    names = ("bytes", "stored_bytes", "parts", "epilogue", "rounds", "multiplied_bytes")
    assert tuple(found[name] for name in names) == values


@pytest.mark.parametrize("kind", sorted(AUTO_SPACES))
def test_auto_names_spaces_that_ship(kind: str) -> None:
    assert set(AUTO_SPACES[kind]) <= set(SHIPPED)


@pytest.mark.parametrize("precision", [Precision.SINGLE, Precision.DOUBLE])
@pytest.mark.parametrize("name", each_of(name for name in SHIPPED if name != "tiled-gpu-wide"))
def test_every_space_has_a_default_on_small_devices(name: str, precision: Precision) -> None:
    file = load_space(find_space(name))
    assert {key for key, _ in file.default} == {one.name for one in file.parameters}
    # That large devices have configs is tested where the kernels of these spaces are written.
    for device in (SMALL, devices.CPU):
        try:
            space = file.bind(outside_names(device, gemm(precision)))
        except UsageError:
            continue
        assert space.default in space
