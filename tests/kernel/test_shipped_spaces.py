"""Shipped spaces: they bind on devices, and their configs give kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.kernel.space_file import load_space, parse_space
from mltune.problem import ComputeType, Precision, gemm
from mltune.resources import data_folder
from mltune.space.config import Config
from mltune.space.names import precision_names
from tests.spaces import LIMITS, SHIPPED, each_of


def shipped() -> list[str]:
    kinds = ("direct", "dots", "packed-*", "small*", "sub-groups", "thin", "tiled-*")
    return [name for name in SHIPPED if any(fnmatch(name, kind) for kind in kinds)]


@pytest.mark.parametrize("name", each_of(shipped()))
@pytest.mark.parametrize("precision", list(Precision))
def test_shipped_spaces_bind(name: str, precision: Precision) -> None:
    loaded = load_space(data_folder("spaces") / f"{name}.yaml")
    cpu_names = {"local_mem_bytes": 1 << 20} if name.endswith("cpu") else {}
    space = loaded.bind({**LIMITS, **precision_names(precision), **cpu_names})

    assert loaded.name == name
    assert space.size > 2_000
    assert space.default in space
    assert all(parameter.meaning for parameter in space.parameters)


def test_the_kernel_of_clblas_is_one_of_the_direct_space() -> None:
    loaded = load_space(data_folder("spaces") / "direct.yaml")
    space = loaded.bind({**LIMITS, **precision_names(Precision.SINGLE)})
    _, config = parse_kernel_name(
        "Cij_Aik_Bkj_SB_MT64x32x4_EDU1_ETbranch_MAexpr_TT8x4_VAcast_VW8_VWB4_WG8x8x1_WGM1"
    )

    assert config in space


MMA = ("mma-nvidia", "mma-skinny-nvidia")
COMPUTE_TYPES = (ComputeType.TF32, ComputeType.BF16, ComputeType.HALF)


@pytest.mark.parametrize(
    ("name", "precision", "compute"),
    [
        *product(("tiled-large-nvidia", "packed-cpu"), Precision, (ComputeType.FULL,)),
        *product(MMA, (Precision.HALF, Precision.SINGLE, Precision.DOUBLE), (ComputeType.FULL,)),
        ("wgmma-nvidia", Precision.HALF, ComputeType.FULL),
        ("wgmma-single-nvidia", Precision.SINGLE, ComputeType.FULL),
        ("wgmma-halves-nvidia", Precision.SINGLE, ComputeType.FULL),
        *product(("wgmma-rounded-nvidia", *MMA), (Precision.SINGLE,), COMPUTE_TYPES),
    ],
)
def test_every_config_of_a_space_gives_a_kernel(
    name: str, precision: Precision, compute: ComputeType
) -> None:
    loaded = load_space(data_folder("spaces") / f"{name}.yaml")
    space = loaded.bind({**LIMITS, **precision_names(precision, compute=compute)})
    contraction = replace(gemm(precision), compute=compute)

    assert space.size > 10_000 or name in shipped()  # test_shipped_spaces_bind has their sizes
    assert space.default in space
    for config in space.sample(np.random.default_rng(0), 40):
        assert FAMILIES[loaded.family].generate(contraction, config).config == config


def test_the_tensor_cores_space_is_empty_elsewhere() -> None:
    loaded = load_space(data_folder("spaces") / "mma-nvidia.yaml")

    with pytest.raises(UsageError, match="'tensor_cores'"):
        loaded.bind({**LIMITS, "compute_capability": 75, **precision_names(Precision.SINGLE)})


def recorded() -> list[str]:
    """The texts of spaces in runs and models, with values and conditions of older versions."""
    root = Path(__file__).parents[2]
    runs = [json.loads(path.read_text("utf-8")) for path in root.glob("runs/*/run.json")]
    models = [
        json.loads(path.read_text("utf-8")) for path in root.glob("models/**/candidates.json")
    ]
    families = [one for model in models for one in model["families"]]
    return sorted({str(one["space_text"]) for one in (*runs, *families) if one.get("space_text")})


def test_recorded_texts_are_read_as_ever() -> None:
    texts = recorded()

    assert len(texts) > 5
    assert any("meaning:" in text for text in texts)
    for text in texts:
        assert parse_space(text, "a run").parameters


def test_the_configs_of_a_recorded_text_are_in_the_file_of_today() -> None:
    text = next(text for text in recorded() if text.startswith("name: tiled-gpu\n"))
    names = {**LIMITS, **precision_names(Precision.SINGLE)}
    old = parse_space(text, "a run").bind(names)
    today = load_space(data_folder("spaces") / "tiled-gpu.yaml").bind(names)

    assert 2 * old.size == today.size  # which has `shiftptr`, too
    for config in old.sample(np.random.default_rng(0), 50):
        assert Config.of({**config, "edge_type": "branch"}) in today
