"""From a program that calls CLBlast to the same program on tuned kernels, by the verbs alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyopencl
import pytest

from mltune.export import SET_WRITERS

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD"),
    pytest.mark.skipif("clblast" not in SET_WRITERS, reason="needs --lang clblast"),
]

PROGRAM = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>
#include <stdio.h>
enum { N = 1 << 14 };
static float ones[N];
static cl_mem filled(cl_context context) {
    return clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof ones, ones, NULL);
}
int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    for (int i = 0; i < N; ++i) ones[i] = 1;
    if (clGetPlatformIDs(1, &platform, NULL)) return 1;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem a = filled(context), b = filled(context), c = filled(context);
    for (int i = 0; i < 50; ++i)
        if (CLBlastSgemm(CLBlastLayoutColMajor, CLBlastTransposeNo, CLBlastTransposeYes, 64, 48,
                         32, 1, a, 0, 64, b, 0, 48, 0, c, 0, 64, &queue, NULL)) return 3;
    clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof ones, ones, 0, NULL, NULL);
    printf("%g %g\n", ones[0], ones[64 * 48 - 1]);
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that multiplies by CLBlast, on the first platform of the system's loader."""
    for tool in ("gcc", "g++", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    (tmp_path / "program.c").write_text(PROGRAM)
    built = subprocess.run(
        ["gcc", "-o", "program", "program.c", "-lclblast", "-lOpenCL"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if built.returncode:
        pytest.skip("needs CLBlast's headers (Debian: libclblast-dev)")
    return tmp_path / "program"


@pytest.fixture
def drivers(tmp_path: Path) -> dict[str, str]:
    """What lets the system's loader find pip's PoCL alone."""
    found = next((Path(pyopencl.__file__).parent / ".libs").glob("libpocl*"), None)
    if found is None:
        pytest.skip("needs pip's PoCL")
    (tmp_path / "drivers").mkdir()
    (tmp_path / "drivers" / "pocl.icd").write_text(f"{found}\n")
    return {"OCL_ICD_VENDORS": str(tmp_path / "drivers")}


def test_a_program_is_traced_tuned_for_and_run_on_tuned_kernels(
    mltune_process: Command,
    program: Path,
    drivers: dict[str, str],
    quick_space: Path,
    device_spec: str,
    tmp_path: Path,
) -> None:
    traced = mltune_process("trace", "-o", "calls.csv", "--", program, environment=drivers)
    assert (traced.code, traced.out.splitlines()[0]) == (0, "32 32"), traced
    assert "sgemm_nt  64x48x32" in traced.out

    quick = ("--space", quick_space, "--device", device_spec, "--time", "10s")
    tuned = mltune_process("tune", "--for", "calls.csv", "-o", "tuned", *quick)
    assert tuned.code == 0, tuned.err
    library = "tuned/library/clblast/libmltune_clblast.so"
    next_line = f"next: make -C tuned/library/clblast && LD_PRELOAD={library} PROGRAM"
    assert next_line in tuned.out.splitlines()

    subprocess.run(["make", "-C", "tuned/library/clblast"], cwd=tmp_path, check=True)
    preloaded = {"LD_PRELOAD": str(tmp_path / library), "MLTUNE_CLBLAST_REPORT": "1"}
    done = subprocess.run(
        [program], env=os.environ | drivers | preloaded, capture_output=True, text=True, check=True
    )

    assert done.stdout == "32 32\n"
    assert "50 calls of GEMM had tuned kernels, 0 CLBlast's" in done.stderr
