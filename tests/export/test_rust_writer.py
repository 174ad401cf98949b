"""The exported crate compiles without a warning, and its results are numpy's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.errors import UnsupportedError
from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.problem import Precision, gemm
from tests.ptx_texts import TWO_STEPS

Make = Callable[..., Library]
Build = Callable[..., Path]
Array = np.ndarray[Any, np.dtype[Any]]
MULTIPLY = Path(__file__).with_name("multiply.rs")
OFFSET, GAP = 3, 2


@dataclass(frozen=True, slots=True)
class Product:
    """One call: a kernel's number or -1, the size, alpha and beta."""

    kernel: int
    size: tuple[int, int, int, int]
    alpha: float = 1.5
    beta: float = -0.25


def _build(library: Library, compile_crate: Build, folder: Path) -> Path:
    WRITERS["rust"].write(library.selector, library.kernels, folder)
    is_complex = library.selector.contraction.precision.is_complex
    text = MULTIPLY.read_text().replace("LIBRARY", library.name.lower())
    orders = [order == "F" for order in library.orders]
    text = text.replace("ORDERS[", f"{orders}[".lower())
    for place in (5, 6):
        value = f"[factor({place}) as _, 0.0]" if is_complex else f"factor({place}) as _"
        text = text.replace(f"FACTOR(factor({place}))", value)
    return compile_crate(folder, text)


def _laid_out(values: Array, order: str) -> tuple[Array, Array]:
    """A buffer of NaN with matrices in it, and a view of them."""
    batch, rows, columns = values.shape
    length, count = (rows, columns) if order == "F" else (columns, rows)
    ld = max(length, 1) + GAP
    buffer = np.full(OFFSET + batch * ld * count + 1, np.nan, values.dtype)
    inside = buffer[OFFSET : OFFSET + batch * ld * count].reshape(batch, count, ld)[:, :, :length]
    view = inside.swapaxes(1, 2) if order == "F" else inside
    view[...] = values
    return buffer, view


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def _check(
    library: Library, program: Path, products: list[Product], folder: Path, env: dict[str, str]
) -> None:
    contraction = library.selector.contraction
    dtype, orders = contraction.precision.dtype, library.orders
    rng = np.random.default_rng(1)
    lines, wanted = [], []
    for number, product in enumerate(products):
        m, n, k, batch = product.size
        shapes = ((batch, m, k), (batch, k, n), (batch, m, n))
        files = [folder / f"{number}_{name}" for name in "abc"]
        given = [_drawn(rng, shape, dtype) for shape in shapes]
        for values, order, file in zip(given, orders, files, strict=True):
            _laid_out(values, order)[0].tofile(file)
        a, b, c = given
        a = a.conj() if contraction.conjugate_a else a
        b = b.conj() if contraction.conjugate_b else b
        right = product.alpha * (a @ b) + product.beta * c
        wanted.append((_laid_out(right.astype(dtype), orders[2])[0], files[2]))
        words = [product.kernel, *product.size, product.alpha, product.beta, OFFSET, GAP, *files]
        lines.append(" ".join(map(str, words)) + "\n")

    done = subprocess.run(
        [program], input="".join(lines), capture_output=True, text=True, check=False, env=env
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["done"] * len(products)
    bound = 100 * float(np.finfo(dtype).eps)
    for expected, file in wanted:  # the NaN around the matrices is unchanged
        np.testing.assert_allclose(np.fromfile(file, dtype), expected, rtol=bound, atol=bound)


@pytest.mark.parametrize(
    ("problem_type", "kernels"),
    [
        ("sgemm_nn", "tiled"),
        ("dgemm_tn_row", "tiled"),
        ("zgemm_ct_row_batched", "tiled"),
        ("cgemm_nc_batched", "tiled"),
        ("Cij_AikC_Bkj_CB", "tiled"),  # conj(A), which BLAS lacks
        ("sgemm_nt_row", "walking"),
        ("sgemm_tn", "counting"),
    ],
)
def test_a_crate_computes_what_numpy_does(
    problem_type: str,
    kernels: str,
    request: pytest.FixtureRequest,
    compile_crate: Build,
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    library: Library = request.getfixturevalue(kernels)(problem_type)
    program = _build(library, compile_crate, tmp_path / "crate")
    batch = 3 if library.batched else 1
    products = [
        Product(kernel, (m, n, k, batch))
        for m, n, k in ((1, 1, 1), (37, 19, 23), (64, 48, 33))
        for kernel in (-1, 0, 1)
    ]
    products += [
        Product(-1, (5, 6, 0, batch)),
        Product(-1, (5, 6, 7, batch), alpha=0.0),
        Product(1, (0, 6, 7, batch)),
    ]

    _check(library, program, products, tmp_path, opencl_environment)


def test_wrong_arguments_are_refused_by_name(
    tiled: Make, compile_crate: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    program = _build(tiled("sgemm_nn"), compile_crate, tmp_path / "crate")
    names = [tmp_path / name for name in "abc"]
    for name in names:
        np.zeros(64, "float32").tofile(name)
    files = " ".join(map(str, names))
    calls = {
        "-1 8 8 8 1 1 1 0 0": "done",
        "-1 -8 8 8 1 1 1 0 0": 'Argument("m")',
        "-1 8 2147483648 8 1 1 1 0 0": 'Argument("n")',
        "-1 8 8 8 2 1 1 0 0": 'Argument("batch")',
        "2 8 8 8 1 1 1 0 0": 'Argument("kernel")',
        "-1 8 8 8 1 1 1 0 -1": 'Argument("a")',
        "-1 8 8 8 1 1 1 1 0": 'Argument("a")',
        "-1 8 8 9 1 1 1 0 0": 'Argument("a")',
        "-1 8 8 9 1 0 1 0 0": "done",
        "-1 8 9 7 1 1 1 0 0": 'Argument("c")',
        "-1 8 8 8 1 1 1 18446744073709551 0": 'Argument("a")',
    }

    done = subprocess.run(
        [program], input="".join(f"{call} {files}\n" for call in calls),
        capture_output=True, text=True, check=False, env=opencl_environment,
    )  # fmt: skip

    assert (done.stderr, done.stdout.splitlines()) == ("", list(calls.values()))


def test_a_kernel_that_does_not_build_is_opencl_s_error(
    tiled: Make, compile_crate: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    broken = tuple(replace(kernel, source="not OpenCL\n") for kernel in library.kernels)
    program = _build(replace(library, kernels=broken), compile_crate, tmp_path / "crate")
    names = [tmp_path / name for name in "abc"]
    for name in names:
        np.zeros(64, "float32").tofile(name)
    call = f"-1 8 8 8 1 1 1 0 0 {' '.join(map(str, names))}\n"

    done = subprocess.run(
        [program], input=call, capture_output=True, text=True, check=False, env=opencl_environment
    )

    assert done.stdout == "OpenCl(-11)\n"


@pytest.mark.parametrize("verb", ["check", "clippy"])
def test_a_workspace_takes_a_crate_without_a_warning(
    verb: str, cargo: str, tiled: Make, tmp_path: Path
) -> None:
    asked = [cargo, verb, "--version"]  # rustup's `cargo-clippy` may have no clippy behind it
    if verb == "clippy" and subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("needs clippy (rustup component add clippy)")
    library = tiled("sgemm_nn")
    WRITERS["rust"].write(library.selector, library.kernels, tmp_path / "tuned")
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\n[package]\nname = "app"\nedition = "2021"\n'
        f'[dependencies]\n{library.name.replace("_", "-")} = {{ path = "tuned" }}\n'
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text(f"fn main() {{ {library.name}::release() }}\n")

    done = subprocess.run(
        [cargo, verb, "--workspace", "--offline", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_refuses_half_and_kernels_that_are_built_in_two_steps(tiled: Make, tmp_path: Path) -> None:
    library = tiled("sgemm_nn")
    first, *others = library.kernels
    kernels = [replace(first, source=first.source + TWO_STEPS), *others]
    with pytest.raises(UnsupportedError, match=r"^export rust: kernel C.* in two steps"):
        WRITERS["rust"].write(library.selector, kernels, tmp_path)

    contraction = gemm(Precision.HALF)
    kernels = [replace(kernel, contraction=contraction) for kernel in library.kernels]
    with pytest.raises(UnsupportedError, match=r"^export rust: hgemm_nn is not written"):
        WRITERS["rust"].write(
            replace(library.selector, contraction=contraction), kernels, tmp_path
        )
