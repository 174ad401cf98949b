"""Generated sources are clean to read: nothing unused, nothing left of the template."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache

import pytest

from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision
from tests.contract.test_kernel_family import PRECISIONS, RANDOM_CONFIGS
from tests.random_problems import random_contraction, random_gemm

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINED = re.compile(r"^#define (\w+)|^(?:static |inline )+[\w ]+?(\w+)\(", re.MULTILINE)
_SEEDS = range(24)


@cache
def _random_kernel(family: str, seed: int) -> Kernel:
    rng = random.Random(seed)
    precision: Precision = rng.choice(PRECISIONS[family])
    config = RANDOM_CONFIGS[family](rng, precision)
    is_gemm = "transpose_first" in config or rng.random() < 0.7
    contraction = random_gemm(rng, precision)[0] if is_gemm else random_contraction(rng, precision)
    return FAMILIES[family].generate(contraction, config)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", _SEEDS)
def test_all_that_a_source_defines_is_used(family: str, seed: int) -> None:
    code = _COMMENT.sub("", _random_kernel(family, seed).source)
    names = [macro or function for macro, function in _DEFINED.findall(code)]
    uses = Counter(re.findall(r"\w+", code))

    assert len(names) > 10
    assert [name for name in names if uses[name] < 2] == []


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", _SEEDS)
def test_a_source_is_laid_out_as_a_person_would(family: str, seed: int) -> None:
    source = _random_kernel(family, seed).source

    assert "{{" not in source
    assert "{% " not in source
    assert "\n\n\n" not in source
    assert [line for line in source.splitlines() if line != line.rstrip()] == []
    assert source.endswith("}\n")
    assert re.findall(r"^#if.*", source, re.MULTILINE) in ([], ["#ifdef __NV_CL_C_VERSION"])
