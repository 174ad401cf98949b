"""Exported kernels that are built in two steps: both layouts of C."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.kernel.two_step_build import second_step_text
from tests.export.conftest import CheckFiles
from tests.export.test_autogemm import spoil_sources
from tests.ptx_texts import BODY, HEAD, OTHERS, TWO_STEPS

Make = Callable[..., Library]
Build = Callable[..., Path]
LAYOUTS = {"compact": WRITERS["c"], "full": FullCWriter(precompile=("all",))}

# Reads a binary, and prints the text of the second build; malloc, for the sanitizer to watch.
PROGRAM = """
#include "mltune_sgemm_nn.c"

#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *const file = fopen(argv[argc - 1], "rb");
    long size;
    char *text;

    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    text = malloc((size_t)size + 2);
    size = (long)fread(text, 1, (size_t)size, file);
    fwrite(text, 1, second_step_text(text, (size_t)size), stdout);
    free(text);
    return fclose(file);
}
"""

# Refuses to give binaries but into exactly the room that they need, as Mesa's rusticl does.
EXACT_ROOM = """
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

cl_int __real_clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void *value,
                               size_t *size_ret);
cl_int __wrap_clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void *value,
                               size_t *size_ret);

cl_int __wrap_clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void *value,
                               size_t *size_ret)
{
    size_t room = 0;

    __real_clGetProgramInfo(program, name, 0, NULL, &room);
    if (name == CL_PROGRAM_BINARIES && size != room)
        return CL_INVALID_VALUE;
    return __real_clGetProgramInfo(program, name, size, value, size_ret);
}
"""


def write(library: Library, layout: str, folder: Path, *, count: int = 1) -> list[Path]:
    """Export a library whose first kernels are built in two steps, and return its sources."""
    first, others = library.kernels[:count], library.kernels[count:]
    kernels = [*(replace(each, source=each.source + TWO_STEPS) for each in first), *others]
    files = LAYOUTS[layout].write(library.selector, kernels, folder)
    apart = ("example.c", "precompile.c")
    return [file for file in files if file.parent == folder and file.suffix == ".c"
            and file.name not in apart]  # fmt: skip


def take_any_binary(file: Path) -> None:
    """Let the second build use PoCL's binary; it is no PTX, but can also be built again."""
    code = file.read_text()
    call = "    size = second_step_text((char *)text, size);\n"
    assert call in code
    file.write_text(code.replace(call, "    (void)second_step_text;\n"))


@pytest.mark.long
def test_instructions_are_released_as_where_they_were_measured(
    tiled: Make, compile_opencl: Build, sanitize: Callable[[str], str], tmp_path: Path
) -> None:
    files = write(tiled("sgemm_nn"), "compact", tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    files[files.index(tmp_path / "mltune_sgemm_nn.c")] = tmp_path / "main.c"
    program = compile_opencl(tmp_path / "main", *files, sanitize("address"), "-O0")
    whole = [HEAD + BODY, HEAD.replace(b"sm_90,", b"sm_90a,") + BODY + b"\0"]
    for binary in [*whole, *OTHERS.values()]:
        (tmp_path / "binary").write_bytes(binary)

        done = subprocess.run([program, tmp_path / "binary"], capture_output=True, check=False)

        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == (second_step_text(binary) or b"")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_library_builds_twice_or_says_that_the_binary_is_none(
    layout: str, tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    files = write(library, layout, tmp_path, count=len(library.kernels))
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)
    assert run(example).endswith("failed (42)\n")  # CL_INVALID_BINARY

    take_any_binary(tmp_path / "mltune_sgemm_nn.c")
    (tmp_path / "room.c").write_text(EXACT_ROOM)
    files += [tmp_path / "example.c", tmp_path / "room.c"]
    example = compile_opencl(tmp_path / "example", *files, "-Wl,--wrap=clGetProgramInfo")
    assert run(example).count(" right") == 5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_kernel_takes_the_place_of_one_whose_binary_is_none(
    layout: str, tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    files = write(tiled("sgemm_nn"), layout, tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    assert run(example).count(" right") == 5


def test_the_binary_that_is_kept_is_that_of_the_second_build(
    tiled: Make, compile_opencl: Build, run: Callable[..., str], tmp_path: Path
) -> None:
    files = write(tiled("sgemm_nn"), "full", tmp_path)
    folder = tmp_path / "kernel_binaries"
    make = tmp_path / "precompile.c"
    assert "(42)" in run(compile_opencl(tmp_path / "precompile", make, *files), folder)

    take_any_binary(make)
    said = run(compile_opencl(tmp_path / "precompile", make, *files), folder)
    assert said.startswith("0 2 kernels for ")
    spoil_sources(tmp_path)  # so that only binaries can be right
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)
    assert run(example).count(" right") == 5


def test_a_users_kernel_is_looked_at_in_place_of_the_generated_one(
    tiled: Make, tmp_path: Path
) -> None:
    library = tiled("sgemm_nn")
    _, last = library.kernels
    writer = FullCWriter(user_kernels=((last.name, last.source + TWO_STEPS),))

    writer.write(library.selector, library.kernels, tmp_path)

    kernels = (tmp_path / "mltune_sgemm_nn_kernels.c").read_text()
    assert [f", {flag}, compute_{number}}}" in kernels for number, flag in enumerate((0, 1))] == [
        True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compilers_find_nothing_to_warn_of(
    check_warnings: CheckFiles, layout: str, tiled: Make, tmp_path: Path
) -> None:
    files = write(tiled("sgemm_nn"), layout, tmp_path)

    check_warnings([*files, *[tmp_path / "precompile.c"] * (layout == "full")])
