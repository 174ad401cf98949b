"""AutoGEMM's set of files: compiled, run, forced, pre-compiled and overridden."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UsageError
from mltune.export.library import Library

Make = Callable[..., Library]
Build = Callable[..., Path]
PARTS = ("", "_select", "_select_specific", "_kernels", "_build_options", "_binaries")


def sources(library: Library, folder: Path) -> list[Path]:
    return [folder / f"{library.name}{part}.c" for part in PARTS]


def write(library: Library, folder: Path, writer: FullCWriter) -> list[Path]:
    return writer.write(library.selector, library.kernels, folder)


def spoil_sources(folder: Path) -> None:
    """Make the generated sources useless."""
    for path in (folder / "kernel_sources").iterdir():
        path.write_text(path.read_text().replace("__kernel", "not OpenCL"))


def is_right(said: str) -> bool:
    return said.startswith("0 ") and said.count(" right ") + said.count(" right\n") == 5


@pytest.mark.parametrize("problem_type", ["sgemm_nn", "zgemm_ct_row", "dgemm_nt_row_batched"])
def test_the_library_is_right(
    problem_type: str, tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    library = tiled(problem_type)
    files = write(library, tmp_path, FullCWriter())
    example = compile_opencl(
        tmp_path / "example", tmp_path / "example.c", *sources(library, tmp_path)
    )

    assert is_right(run(example))
    assert {file.relative_to(tmp_path).parts[0] for file in files if file.parent != tmp_path} == {
        "kernel_sources",
        "kernel_binaries",
    }
    kernel_sources = sorted(path.stem for path in (tmp_path / "kernel_sources").iterdir())
    assert kernel_sources == sorted(f"{kernel.name}_src" for kernel in library.kernels)


def test_a_kernel_is_selected_by_its_tile(
    tiled: Make, compile_c: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    write(library, tmp_path, FullCWriter())
    name = library.name
    tiles = ("{0, 0, 2, 0, 0, 0, 0}", "{4, 4, 4, 2, 16, 8, 4}", "{0, 0, 0, 0, 16, 0, 0}",
             "{0}", "{0, 0, 3, 0, 0, 0, 0}")  # fmt: skip
    calls = "".join(
        f"    {{ const {name}_tile wanted = {tile};\n"
        f'      printf("%d ", {name}_select_specific(&wanted)); }}\n'
        for tile in tiles
    )
    (tmp_path / "main.c").write_text(
        f'#include "{name}_enumeration.h"\n#include "{name}_select_specific.h"\n'
        f"#include <stdio.h>\nint main(void)\n{{\n{calls}"
        f'    printf("%s %s %s", {name}_precision, {name}_order, {name}_transposes);\n'
        "    return 0;\n}\n"
    )
    specific = tmp_path / f"{name}_select_specific.c"
    program = compile_c(tmp_path / "main", tmp_path / "main.c", specific)

    assert run(program) == "0 0 1 1 0 -1 s column NN"


def test_listed_kernels_are_compiled_ahead_and_used_on_their_device_only(
    tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    write(library, tmp_path, FullCWriter(precompile=("s_nn",)))
    files = sources(library, tmp_path)
    precompiler = compile_opencl(tmp_path / "precompiler", tmp_path / "precompile.c", *files)
    folder = tmp_path / "kernel_binaries"

    assert run(precompiler, folder).startswith("0 2 kernels for ")
    assert len(list(folder.glob("*_bin.c"))) == 2

    spoil_sources(tmp_path)  # so that only binaries can be right
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)
    assert is_right(run(example))

    listed = folder / "precompiled.h"
    listed.write_text(listed.read_text().replace('DEVICE "', 'DEVICE "another '))
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)
    assert run(example).endswith("failed (11)\n")  # it builds from source, as without binaries


def test_a_users_kernel_takes_the_place_of_a_generated_one(
    tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    own = tuple((kernel.name, kernel.source) for kernel in library.kernels)
    write(library, tmp_path, FullCWriter(user_kernels=own))
    spoil_sources(tmp_path)
    example = compile_opencl(
        tmp_path / "example", tmp_path / "example.c", *sources(library, tmp_path)
    )

    assert is_right(run(example))


@pytest.mark.parametrize("tool", ["make", "cmake"])
@pytest.mark.usefixtures("compile_opencl")  # skips where there are no headers
def test_build_files_build_and_precompile(
    tool: str,
    tiled: Make,
    opencl_loader: Path,
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    library = tiled("sgemm_nn")
    write(library, tmp_path, FullCWriter(precompile=("all",)))
    linked = f"OPENCL_LIB={opencl_loader} -Wl,-rpath,{opencl_loader.parent}"
    whole = f"-Wl,--whole-archive,lib{library.name}.a,--no-whole-archive"
    commands = {
        "make": [
            ["make", "CFLAGS=-O2 -Werror", linked],
            ["make", "CFLAGS=-O2 -Werror", linked, "precompile"],
            ["cc", "-shared", "-o", "plugin", whole],
        ],
        "cmake": [
            ["cmake", "-S", ".", "-B", "build", f"-DOpenCL_LIBRARY={opencl_loader}"],
            ["cmake", "--build", "build"],
            ["cmake", "--build", "build", "--target", f"{library.name}_precompiled"],
            ["cmake", "--build", "build"],
        ],
    }
    for command in commands[tool]:
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=opencl_environment,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "kernel_binaries").glob("*_bin.c"))) == 2


@pytest.mark.parametrize(
    ("writer", "words"),
    [
        (FullCWriter(precompile=("dgemm",)), "'dgemm' has no kernel here: this is sgemm_nn"),
        (FullCWriter(precompile=("nt",)), "'nt' has no kernel here"),
        (FullCWriter(precompile=("",)), "'' is neither a precision nor"),
        (FullCWriter(precompile=("fast",)), "'fast' is neither a precision nor"),
        (FullCWriter(user_kernels=(("mine", ""),)), "mine: there is no such kernel"),
        (FullCWriter(user_kernels=(("a", ""), ("a", ""))), "a: needs one source, got 2"),
    ],
)
def test_a_mistake_is_told(writer: FullCWriter, words: str, tiled: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        write(tiled("sgemm_nn"), tmp_path, writer)
    plain, split = (kernel.name for kernel in tiled("sgemm_nn").kernels)
    with pytest.raises(UsageError, match=f"its source does not hold the name {plain}$"):
        write(tiled("sgemm_nn"), tmp_path, FullCWriter(user_kernels=((plain, "int x;"),)))
    with pytest.raises(UsageError, match=f"its source does not hold the name {split}_sum$"):
        write(tiled("sgemm_nn"), tmp_path, FullCWriter(user_kernels=((split, f"int {split};"),)))
