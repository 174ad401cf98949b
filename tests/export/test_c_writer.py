import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from mltune import __version__
from mltune.export import WRITERS
from mltune.export.c import c_writer
from mltune.export.c.c_writer import TEMPLATES
from mltune.export.library import Library
from tests.blas_calls import check_calls
from tests.export.conftest import CheckFiles, check_usage

Make = Callable[..., Library]
Build = Callable[..., Path]
CALLS = Path(__file__).parent / "calls.c"
LIBRARY = ("", "_select", "_kernels")
# PoCL 3.1 finds a loaded kernel by what it is for, not by which it is: of two that threads load at
# once it gives back one twice. Seen once, then not in 640 runs.
POCL_RACE = "pocl_release_dlhandle_cache: Assertion `found->ref_count > 0' failed."


def sources(library: Library, folder: Path) -> list[Path]:
    """Write a library, and return its C files without the example."""
    WRITERS["c"].write(library.selector, library.kernels, folder)
    return [folder / f"{library.name}{part}.c" for part in LIBRARY]


@pytest.fixture
def short_example(problem_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the example's largest size for one type only, as PoCL does not optimise here."""
    if problem_type != "sgemm_nn":
        sizes = (*c_writer._CHECKED_SIZES[:-1], (96, 80, 72))
        monkeypatch.setattr(c_writer, "_CHECKED_SIZES", sizes)


@pytest.mark.usefixtures("short_example")
@pytest.mark.parametrize(
    "problem_type",
    [
        "sgemm_nn", "sgemm_tn_row", "sgemm_nt_batched", "sgemm_nt_row_batched",
        "dgemm_tt", "dgemm_tn_row", "dgemm_nn_batched", "dgemm_tt_row_batched",
        "cgemm_nc", "cgemm_tt_row", "cgemm_ct_batched", "cgemm_cn_row_batched",
        "zgemm_cn", "zgemm_ct_row", "zgemm_nn_batched", "zgemm_tc_row_batched",
        "hgemm_nn", "hgemm_nt_row", "hgemm_tn_batched", "hgemm_tt_row_batched",
    ],
)  # fmt: skip
def test_the_example_is_right_and_agrees_with_numpy(
    problem_type: str,
    tiled: Make,
    compile_opencl: Build,
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    library = tiled(problem_type)
    files = sources(library, tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    checked = subprocess.run(
        [example], capture_output=True, text=True, check=False, env=opencl_environment
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert [line.split()[3] for line in checked.stdout.splitlines()] == ["right"] * 5
    assert "7x5x3" in checked.stdout

    rng = np.random.default_rng(1)
    m, n, k, batch = 37, 19, 23, 4 if library.batched else 1
    orders = library.orders
    contraction = library.selector.contraction
    dtype = contraction.precision.dtype
    shapes = ((batch, m, k), (batch, k, n), (batch, m, n))
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    if contraction.precision.is_complex:
        a, b, c = (x + (1j * rng.standard_normal(x.shape)).astype(dtype) for x in (a, b, c))
    names = [tmp_path / f"{name}.raw" for name in "abc"]
    for values, order, name in zip((a, b, c), orders, names, strict=True):
        (values if order == "C" else values.swapaxes(1, 2)).copy().tofile(name)
    sizes = [str(size) for size in (m, n, k, batch)[: 4 if library.batched else 3]]

    subprocess.run(
        [example, *sizes, *names, "1.5", "-0.25"],
        capture_output=True, check=True, env=opencl_environment,
    )  # fmt: skip

    shape = (batch, m, n) if orders[2] == "C" else (batch, n, m)
    result = np.fromfile(names[2], dtype).reshape(shape)
    result = result if orders[2] == "C" else result.swapaxes(1, 2)
    bound = (1 if dtype == "float16" else 100) * float(np.finfo(dtype).eps)
    a = a.conj() if contraction.conjugate_a else a
    b = b.conj() if contraction.conjugate_b else b
    a, b, c = (x.astype(np.result_type(dtype, np.float64)) for x in (a, b, c))
    np.testing.assert_allclose(result, 1.5 * a @ b - 0.25 * c, rtol=bound, atol=bound)


@pytest.mark.usefixtures("short_example")
@pytest.mark.parametrize(
    "problem_type",
    [
        "sgemm_nn_bias_m_relu", "sgemm_nt_row_batched_bias_n_gelu", "dgemm_tn_silu",
        "hgemm_nn_row_bias_m_clamp", "hgemm_nn_gelu", "sgemm_nn_clamp", "zgemm_nc_bias_n",
        "sgemm_nn_tf32", "sgemm_tn_half_bias_n",
    ],
)  # fmt: skip
def test_the_example_is_right_with_an_epilogue(
    problem_type: str,
    tiled: Make,
    compile_opencl: Build,
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    files = sources(tiled(problem_type), tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    checked = subprocess.run(
        [example], capture_output=True, text=True, check=False, env=opencl_environment
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert [line.split()[3] for line in checked.stdout.splitlines()] == ["right"] * 5
    header = (tmp_path / f"mltune_{problem_type}.h").read_text()
    assert ("cl_mem bias," in header) == ("bias" in problem_type)
    assert ("low," in header) == ("clamp" in problem_type)


@pytest.mark.parametrize(
    ("sanitizer", "kernels"), [("address", "tiled"), ("thread", "tiled"), ("thread", "counting")]
)
def test_calls_right_and_wrong_from_one_thread_and_eight(
    sanitizer: str,
    kernels: str,
    request: pytest.FixtureRequest,
    compile_opencl: Build,
    sanitize: Callable[[str], str],
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    option = sanitize(sanitizer)
    make: Make = request.getfixturevalue(kernels)
    files = sources(make("sgemm_nn"), tmp_path) + sources(make("sgemm_nn_batched"), tmp_path)
    program = compile_opencl(tmp_path / "calls", CALLS, *files, f"-I{tmp_path}", option)

    for _ in range(3):
        done = subprocess.run(
            [program], capture_output=True, text=True, check=False, env=opencl_environment
        )
        if POCL_RACE not in done.stderr:
            break

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("kernels", "problem_type"),
    [
        ("tiled", "sgemm_nt_row"), ("tiled", "dgemm_tn"), ("tiled", "cgemm_nn"),
        ("tiled", "zgemm_tc_row"), ("tiled", "hgemm_tt"), ("walking", "sgemm_nt_row"),
        ("walking", "zgemm_tc"), ("counting", "sgemm_nt_row"), ("counting", "zgemm_tc"),
    ],
)  # fmt: skip
def test_calls_as_of_a_blas_give_what_numpy_gives(
    kernels: str,
    problem_type: str,
    request: pytest.FixtureRequest,
    compile_shared: Build,
    queue: cl.CommandQueue,
    tmp_path: Path,
) -> None:
    library = request.getfixturevalue(kernels)(problem_type)
    shared = compile_shared(tmp_path / "library.so", *sources(library, tmp_path))

    check_calls(library, shared, queue, random.Random(problem_type), 8)


@pytest.mark.long
@pytest.mark.parametrize(
    "problem_type",
    ["sgemm_nn", "zgemm_tc_row_batched", "hgemm_nn", "hgemm_nn_bias_m_clamp", "sgemm_nn_gelu"],
)
def test_compilers_find_nothing_to_warn_of(
    check_warnings: CheckFiles, problem_type: str, tiled: Make, tmp_path: Path
) -> None:
    check_warnings([*sources(tiled(problem_type), tmp_path), tmp_path / "example.c"])


def test_a_kernel_that_does_not_build_is_a_positive_code(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    broken = tuple(replace(kernel, source="not OpenCL") for kernel in library.kernels)
    files = sources(replace(library, kernels=broken), tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    done = subprocess.run(
        [example], capture_output=True, text=True, check=False, env=opencl_environment
    )

    assert done.returncode == 1
    assert done.stderr.endswith("example: mltune_sgemm_nn failed (11)\n")


def test_the_example_shows_its_usage_for_what_is_no_size(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    files = sources(tiled("sgemm_nn"), tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    usage = "usage: example [-d DEVICE] [M N K [A B C [ALPHA BETA]]]\n"
    check_usage(example, usage, opencl_environment)


def test_the_readme_shows_the_loader_a_driver_from_pip(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    if "pyopencl" not in opencl_environment["OCL_ICD_VENDORS"]:
        pytest.skip("pip's PoCL does not work here")
    example = compile_opencl(
        tmp_path / "example", tmp_path / "example.c", *sources(tiled("sgemm_nn"), tmp_path)
    )
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    (command,) = (line for line in readme.splitlines() if line.startswith("OCL_ICD_VENDORS="))
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    without = opencl_environment | {"OCL_ICD_VENDORS": "/nowhere", "PATH": path}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=without
        )

    assert "no such OpenCL device: see README.md (-1)" in run(example, "5", "6", "7").stderr
    done = run("bash", "-c", f"{command} 5 6 7")
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout


@pytest.mark.parametrize("tool", ["make", "cmake"])
@pytest.mark.usefixtures("compile_opencl")  # skips where there are no headers
def test_build_files_build_and_install(
    tool: str, tiled: Make, opencl_loader: Path, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    sources(tiled("sgemm_nn"), tmp_path)
    linked = f"OPENCL_LIB={opencl_loader} -Wl,-rpath,{opencl_loader.parent}"
    whole = "-Wl,--whole-archive,libmltune_sgemm_nn.a,--no-whole-archive"
    commands = {
        "make": [
            ["make", "CFLAGS=-O2 -Werror", linked],
            ["make", "install", "PREFIX=installed", "OPENCL_INC=cl", linked],
            ["cc", "-shared", "-o", "plugin", whole],
        ],
        "cmake": [
            [
                "cmake",
                "-DCMAKE_C_FLAGS=-Werror",
                f"-DOpenCL_LIBRARY={opencl_loader}",
                f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}",
                ".",
            ],
            ["cmake", "--build", "."],
            ["cmake", "--install", "."],
        ],
    }
    for command in commands[tool]:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [tmp_path / "example", "5", "6", "7"],
        capture_output=True, text=True, check=False, env=opencl_environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout
    installed = {
        file.relative_to(tmp_path / "installed").as_posix()
        for file in (tmp_path / "installed").rglob("*")
        if file.is_file()
    }
    described = {"lib/pkgconfig/mltune_sgemm_nn.pc"} if tool == "make" else set()
    for file in described:
        text = (tmp_path / "installed" / file).read_text()
        assert f"\nVersion: {__version__}\n" in text
        # Other folders use it.
        assert f"\nLibs: -L{tmp_path}/installed/lib -lmltune_sgemm_nn " in text
        assert text.endswith(f"\nCflags: -I{tmp_path}/installed/include -isystem {tmp_path}/cl\n")
    assert installed == described | {
        "lib/libmltune_sgemm_nn.a",
        "include/mltune_sgemm_nn.h",
        "include/mltune_sgemm_nn_select.h",
    }


def test_sources_survive_whatever_stands_in_them(
    tiled: Make, compile_c: Build, tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    nasty = 'a "quote", a \\ and ??/ a tab\t, \x01, µ and *' + "/ then 0123456789\n" + "x" * 5000
    kernels = tuple(replace(kernel, source=nasty) for kernel in library.kernels)
    _, _, kernels_c = sources(replace(library, kernels=kernels), tmp_path)
    (tmp_path / "print.c").write_text(
        f'#include <stdio.h>\n#include "{library.name}_kernels.h"\n'
        "int main(void)\n{\n    unsigned i;\n\n"
        f"    for (i = 0; i < {library.name}_kernels[0].num_literals; ++i)\n"
        f"        fputs({library.name}_kernels[0].source[i], stdout);\n    return 0;\n}}\n"
    )

    program = compile_c(tmp_path / "print", tmp_path / "print.c", kernels_c)

    assert subprocess.run([program], capture_output=True, check=True).stdout == nasty.encode()


def test_a_condition_cannot_leave_its_comment(
    tiled: Make, compile_c: Build, tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    conditions = (("device", "*" + "/ int broken = ; /" + "* ??/"), ("note", "\u202e\\\n"))
    selector = replace(library.selector, conditions=conditions)
    _, select_c, _ = sources(replace(library, selector=selector), tmp_path)

    compile_c(tmp_path / "select.o", "-c", select_c)


@pytest.mark.long
def test_floats_are_rounded_to_half_as_numpy_rounds_them(compile_c: Build, tmp_path: Path) -> None:
    """Checks every 997th float, and the floats at and beside the boundaries between halves."""
    function = (TEMPLATES / "to_half.c.in").read_text()
    (tmp_path / "round.c").write_text(
        "#include <stdint.h>\n#include <stdio.h>\ntypedef uint16_t cl_half;\n"
        + function
        + """
int main(void)
{
    float value;

    while (fread(&value, sizeof value, 1, stdin) == 1) {
        const cl_half rounded = to_half(value);

        fwrite(&rounded, sizeof rounded, 1, stdout);
    }
    return 0;
}
"""
    )
    program = compile_c(tmp_path / "round", tmp_path / "round.c")
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves[:-1] + halves[1:]) / 2
    edges = np.concatenate((halves, middles, [65519.996, 65520, np.inf])).astype(np.float32)
    close = [edges, np.nextafter(edges, np.float32(0)), np.nextafter(edges, np.float32(np.inf))]
    spread = np.arange(0, 2**32, 997, dtype=np.uint32).view(np.float32)
    values = np.concatenate((*close, *(-each for each in close), spread))
    values = values[~np.isnan(values)]

    done = subprocess.run([program], input=values.tobytes(), capture_output=True, check=True)

    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert np.array_equal(np.frombuffer(done.stdout, np.uint16), expected.view(np.uint16))
