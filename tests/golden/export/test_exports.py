"""The committed exports are what the writers write.

After an intended change, run `MLTUNE_UPDATE_GOLDEN=1 pytest tests/golden/export` and read the
diff.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.export import SET_WRITERS, WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.export.writer import Writer
from mltune.kernel import Kernel
from mltune.problem import Precision, gemm
from mltune.runtime import TunedGemm
from mltune.selector import Leaf, Regret, Selector, Split
from mltune.space.config import Config
from tests.selectors import entry_of

HERE = Path(__file__).parent
CONTRACTION = gemm(Precision.SINGLE)


def kernel(name: str, macro_tile: tuple[int, int]) -> Kernel:
    return Kernel(
        name=name,
        family="golden",
        contraction=CONTRACTION,
        config=Config.of({"rows": macro_tile[0] // 8}),
        source=(HERE / "kernels" / f"{name}.cl").read_text(encoding="utf-8"),
        build_options=("-cl-std=CL1.2",),
        work_group=(8, 8, 1),
        macro_tile=macro_tile,
    )


KERNELS = (kernel("one_element", (8, 8)), kernel("four_rows", (32, 8)))
SELECTOR = Selector(
    contraction=CONTRACTION,
    portfolio=tuple(map(entry_of, KERNELS)),
    tree=Split(
        "mn", 4096, Split("k_per_m", 15, Leaf(0), Leaf(1)), Split("m", 31, Leaf(0), Leaf(1))
    ),
    exact=(((1024, 1024, 1024, 1), 1), ((64, 64, 64, 1), 0)),
    regret=Regret(sizes=20, geomean=0.973, p10=0.912, worst=0.841, worst_size="35x700x2048"),
    conditions=(
        ("device", "an example, not a measurement"),
        ("statistic", "median of 7 samples, kernel time by device events"),
    ),
)


class OfOne:
    """A library of several problem types that has only one."""

    @property
    def name(self) -> str:
        return "c-set"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        libraries = LibrarySet("mltune", (Library.of(selector, kernels),))
        return SET_WRITERS["c"].write(libraries, out)


EXPORTS: dict[str, Writer] = {
    **WRITERS,
    "c-full": FullCWriter(precompile=("all",)),
    "c-set": OfOne(),
}


@pytest.mark.parametrize("language", list(EXPORTS))
def test_writes_what_is_committed(language: str, tmp_path: Path) -> None:
    if os.environ.get("MLTUNE_UPDATE_GOLDEN") == "1":
        shutil.rmtree(HERE / language, ignore_errors=True)
        EXPORTS[language].write(SELECTOR, KERNELS, HERE / language)
    files = EXPORTS[language].write(SELECTOR, KERNELS, tmp_path)

    written = {file.relative_to(tmp_path): file.read_text() for file in files}
    committed = {
        file.relative_to(HERE / language): file.read_text()
        for file in (HERE / language).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert sorted(written) == sorted(committed)
    for name, text in written.items():
        assert text == committed[name], f"{language}/{name}"


@pytest.mark.device
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_the_kernels_are_right(number: int, queue: cl.CommandQueue) -> None:
    rng = np.random.default_rng(1)
    for m, n, k in ((1, 1, 1), (33, 9, 5), (70, 20, 11)):
        a, b, c = (rng.random(shape, "float32") for shape in ((m, k), (k, n), (m, n)))
        arrays = [cl_array.to_device(queue, np.asfortranarray(x)) for x in (a, b, c)]

        result, _ = TunedGemm(SELECTOR, KERNELS).gemm(
            queue, *arrays, alpha=2, beta=-1, kernel=number
        )

        np.testing.assert_allclose(result.get(), 2 * a @ b - c, rtol=1e-5, atol=1e-5)
