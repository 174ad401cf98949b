import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UnsupportedError
from mltune.export import SET_WRITERS, WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.space.expression import evaluate
from tests.ptx_texts import TWO_STEPS

Make = Callable[..., Library]

PROGRAM = """
import importlib.abc
import sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {"mltune", "sklearn", "optuna", "pandas", "joblib", "yaml"}:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import mltune_dgemm_nt_row as tuned

platform = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language")
queue = cl.CommandQueue(cl.Context(platform.get_devices()[:1]))
rng = np.random.default_rng(1)
for m, n, k in ((1, 1, 1), (33, 17, 9), (64, 50, 40)):
    a, b = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    for kernel in (None, 0, 1):
        c, event = tuned.gemm(
            queue, cl_array.to_device(queue, a), cl_array.to_device(queue, b).T, kernel=kernel
        )
        event.wait()
        np.testing.assert_allclose(c.get(), a @ b.T, rtol=1e-12, atol=1e-12)
tuned.release()
assert tuned.select(7, 5, 3) == 1
assert tuned.KERNELS[tuned.select(1, 1, 1)].name == tuned.KERNELS[0].name
try:
    tuned.gemm(queue, cl_array.to_device(queue, a), cl_array.to_device(queue, b))
except ValueError as error:
    print(error)
"""


@pytest.mark.usefixtures("opencl_environment")  # skips where there is no PoCL
def test_runs_where_only_numpy_and_pyopencl_are(tiled: Make, tmp_path: Path) -> None:
    library = tiled("dgemm_nt_row")
    WRITERS["python"].write(library.selector, library.kernels, tmp_path)

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout == "dgemm_nt_row: b must be (40, n) beside a (64, 40), got (50, 40)\n"


EPILOGUE_PROGRAM = """
import sys

sys.path.insert(0, sys.argv[1])

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import mltune_sgemm_nn_row_bias_n_clamp as tuned

platform = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language")
queue = cl.CommandQueue(cl.Context(platform.get_devices()[:1]))
rng = np.random.default_rng(1)
a, b, bias = (rng.standard_normal(each).astype("f") for each in ((33, 9), (9, 17), 17))
there = [cl_array.to_device(queue, each) for each in (a, b, bias)]
for kernel in (None, 0, 1):
    c, _ = tuned.gemm(queue, *there[:2], bias=there[2], low=-0.5, high=1.25, kernel=kernel)
    np.testing.assert_allclose(c.get(), np.clip(a @ b + bias, -0.5, 1.25), rtol=1e-5, atol=1e-5)
try:
    tuned.gemm(queue, *there[:2], bias=there[2][:3], low=0, high=1)
except ValueError as error:
    print(error)
print(tuned.gemm.__doc__.partition("\\n")[0])
"""


@pytest.mark.usefixtures("opencl_environment")  # skips where there is no PoCL
def test_an_epilogue_is_passed(tiled: Make, tmp_path: Path) -> None:
    library = tiled("sgemm_nn_row_bias_n_clamp")
    WRITERS["python"].write(library.selector, library.kernels, tmp_path)

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EPILOGUE_PROGRAM, tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    wrong, formula = done.stdout.splitlines()
    assert wrong.endswith("bias must be (17,), a number for each column of c, got (3,)")
    assert (
        formula
        == "Enqueue c = clamp(alpha * a @ b + beta * c + bias, low, high), with numpy's shapes."
    )
    readme = (tmp_path / "README.md").read_text()
    assert "C = clamp(alpha * A * B + beta * C + bias, low, high) in single" in readme
    assert ".gemm(queue, a, b, bias=bias, low=0, high=6)" in readme


def test_a_writer_that_passes_no_epilogue_says_who_does(tiled: Make, tmp_path: Path) -> None:
    library = tiled("sgemm_nn_relu")
    alone = "alone, with --lang python, json, or c without --name and --layout full$"

    for name, writer in (("rust", WRITERS["rust"]), ("the full layout", FullCWriter())):
        words = f"sgemm_nn_relu has an epilogue, which {name} does not pass; export it {alone}"
        with pytest.raises(UnsupportedError, match=words):
            writer.write(library.selector, library.kernels, tmp_path)
    with pytest.raises(UnsupportedError, match=alone):
        SET_WRITERS["c"].write(LibrarySet("mltune", (library,)), tmp_path)
    for language in ("python", "json", "c"):
        WRITERS[language].write(library.selector, library.kernels, tmp_path / language)


def test_states_its_regret_and_conditions(tiled: Make, tmp_path: Path) -> None:
    library = tiled("sgemm_tn")
    WRITERS["python"].write(library.selector, library.kernels, tmp_path)

    text = (tmp_path / "mltune_sgemm_tn" / "__init__.py").read_text()

    assert "C = alpha * A^T * B + beta * C in single precision, column-major." in text
    assert "time of the chosen one is 0.974 in the geometric mean" in " ".join(text.split())
    assert "Measured: device PoCL; date 2026-11-21." in text


VARIANTS = [
    f"{letter}gemm_{transposes}{order}{batched}"
    for letter in "hsdcz"
    for order, batched, transposes in (
        ("", "", "tn"), ("_row", "", "nt"), ("", "_batched", "nn"), ("_row", "_batched", "tt"),
    )
]  # fmt: skip
EXAMPLES = """
import runpy
import sys

for folder in sys.argv[1:]:
    sys.path.insert(0, folder)
    made = runpy.run_path(folder + "/example.py")
    shape = (4, 10, 20) if folder.endswith("_batched") else (10, 20)
    assert made["result"].shape == shape, folder
    assert (made["result"] == 30).all(), folder
"""


@pytest.mark.usefixtures("opencl_environment")
def test_the_example_of_every_variant_runs(tiled: Make, tmp_path: Path) -> None:
    for problem_type in VARIANTS:
        library = tiled(problem_type)
        folder = tmp_path / problem_type
        WRITERS["python"].write(library.selector, library.kernels, folder)
        code = (folder / "README.md").read_text().split("```")[1].removeprefix("python\n")
        # Oclgrind, if installed, is the first device, and far too slow for these sizes.
        code = code.replace(
            "pyopencl.create_some_context(interactive=False)",
            "pyopencl.create_some_context(answers=['Portable'])",
        ).replace("300", "30").replace("200", "20").replace("100", "10")  # fmt: skip
        (folder / "example.py").write_text(code)

    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES, *(tmp_path / variant for variant in VARIANTS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    names = [kernel.name for variant in VARIANTS for kernel in tiled(variant).kernels]
    assert len(done.stdout.splitlines()) == len(VARIANTS)
    assert set(done.stdout.split()) <= set(names)


@pytest.mark.parametrize("makes", ["tiled", "walking"])
def test_kernel_texts_and_options_come_through(
    makes: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    library = request.getfixturevalue(makes)("sgemm_nn")
    first, *others = library.kernels
    kernels = [replace(first, source=first.source + TWO_STEPS), *others]
    WRITERS["python"].write(library.selector, kernels, tmp_path)
    spec = importlib.util.spec_from_file_location(
        library.name,
        tmp_path / library.name / "__init__.py",
        submodule_search_locations=[str(tmp_path / library.name)],
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[library.name] = package
    try:
        spec.loader.exec_module(package)
        written = package.KERNELS
    finally:
        for name in [name for name in sys.modules if name.startswith(library.name)]:
            del sys.modules[name]

    assert [found.two_steps for found in written] == [True, False]
    for kernel, found in zip(kernels, written, strict=True):
        for field in ("name", "source", "build_options"):
            assert getattr(found, field) == getattr(kernel, field)
        assert found.passes == tuple((each.entry, each.work_group) for each in kernel.passes)
        assert found.arguments == tuple(each.word for each in kernel.arguments)
        for extents in ((1, 1, 1, 1, 1), (100, 7, 33, 3, 132), (4096, 4095, 1000, 2, 8)):
            reach = dict(zip("ijlzu", extents, strict=True))
            geometry = kernel.geometry
            assert found.geometry(*extents) == (
                tuple(tuple(evaluate(x, reach) for x in each) for each in geometry.global_sizes),
                evaluate(geometry.scratch_bytes, reach),
                evaluate(geometry.counter_bytes, reach),
            )
