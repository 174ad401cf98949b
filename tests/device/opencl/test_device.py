from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from mltune.device import BuildError, choose
from mltune.device.opencl.describe import _kind
from mltune.device.opencl.device import OpenCLDevice
from mltune.device.opencl.program import first_error_line
from mltune.kernel import Kernel
from tests.ptx_texts import TWO_STEPS

MakeKernel = Callable[..., Kernel]


@pytest.fixture(scope="module")
def device(device_spec: str) -> OpenCLDevice:
    return OpenCLDevice(choose(device_spec))


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_a_stretch_of_a_buffer_is_filled(
    device: OpenCLDevice, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(device, "_info", replace(device.info, kind=kind))
    found = np.zeros(3 * 4096 + 14, np.uint8)
    buffer = device.allocate(found.nbytes)

    device.fill(buffer, 7)
    device.fill(buffer, 255, 4096, 8200)
    device.read(buffer, found)

    assert (found[:4096] == 7).all()
    assert (found[4096:8200] == 255).all()
    assert (found[8200:-2] == 7).all()


def test_a_syntax_error_is_told_in_the_compilers_words(
    device: OpenCLDevice, naive_kernel: MakeKernel
) -> None:
    with pytest.raises(BuildError, match=r"error: .*undeclared identifier 'this'") as raised:
        device.build(naive_kernel("syntax"))

    assert "\n" not in str(raised.value)
    assert len(raised.value.log.splitlines()) > 1


def test_a_source_without_the_named_function_does_not_build(
    device: OpenCLDevice, naive_kernel: MakeKernel
) -> None:
    with pytest.raises(BuildError):
        device.build(replace(naive_kernel(), name="absent"))


def test_instructions_cannot_be_left_to_a_second_step_by_a_driver_without_ptx(
    device: OpenCLDevice, naive_kernel: MakeKernel
) -> None:
    kernel = naive_kernel()

    with pytest.raises(BuildError, match=r"needs a driver that gives binaries as PTX text"):
        device.build(replace(kernel, source=kernel.source + TWO_STEPS))


def test_a_source_with_marked_instructions_is_built_and_what_comes_out_again(
    device: OpenCLDevice, naive_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = naive_kernel()
    taken: list[bytes] = []

    def take(binary: bytes) -> bytes:  # PoCL's is no PTX, but can be built again, too
        taken.append(binary)
        return binary

    monkeypatch.setattr("mltune.device.opencl.program.second_step_text", take)

    built = device.build(replace(kernel, source=kernel.source + TWO_STEPS))

    assert [each.function_name for each in built.functions] == [kernel.name]
    assert [len(binary) > 0 for binary in taken] == [True]


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            "clBuildProgram failed: BUILD_PROGRAM_FAILURE\n\nx.cl:1:2: error: bad\n",
            "x.cl:1:2: error: bad",
        ),
        ("warning: w\nfatal error: no file\n", "fatal error: no file"),
        ("failed\n", "failed"),
        ("", "the compiler gave no reason"),
    ],
)
def test_the_first_error_line_of_a_log(log: str, line: str) -> None:
    assert first_error_line(log) == line


def test_a_simulator_that_calls_itself_everything_is_a_processor() -> None:
    device = SimpleNamespace(
        platform=SimpleNamespace(name="Oclgrind"), type=cl.device_type.CPU | cl.device_type.GPU
    )

    assert _kind(device) == "cpu"  # type: ignore[arg-type]
