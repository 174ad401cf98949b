from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.device import BuildError, LimitError, OpenCLDevice
from mltune.device.opencl.program import first_error_line
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from tests.ptx_texts import HELD_BACK

MakeKernel = Callable[..., Kernel]


@pytest.fixture(scope="module")
def device(device_spec: str) -> OpenCLDevice:
    return OpenCLDevice.open(device_spec)


def test_a_device_describes_itself(device: OpenCLDevice) -> None:
    info = device.info

    assert info.kind == "cpu"
    assert info.wave_size == 1
    assert info.compute_units >= 1
    assert info.fp64
    assert DeviceInfo.from_json(info.to_json()) == info


def test_a_kernel_computes_what_numpy_does(device: OpenCLDevice, naive_kernel: MakeKernel) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4, alpha=2.0)
    a = np.arange(20, dtype=np.float32)
    b = np.arange(12, dtype=np.float32)
    c = np.zeros(15, np.float32)
    buffers = {
        name: device.allocate(array.nbytes) for name, array in zip("abc", (a, b, c), strict=True)
    }
    device.write(buffers["a"], a)
    device.write(buffers["b"], b)

    program = device.build(naive_kernel())
    execution = device.launch(program, problem, **buffers)
    execution.wait_until_running()
    execution.wait()
    device.read(buffers["c"], c)

    expected = 2 * a.reshape(4, 5).T @ b.reshape(3, 4).T
    assert c.reshape(3, 5).T.tolist() == expected.tolist()
    assert execution.seconds > 0
    assert execution.delay_seconds >= 0
    assert program.build_seconds > 0


def test_a_part_of_a_buffer_is_a_buffer(device: OpenCLDevice) -> None:
    whole = np.arange(2048, dtype=np.float32)
    buffer = device.allocate(whole.nbytes)
    device.write(buffer, whole)
    found = np.empty(3, np.float32)

    device.read(device.part(buffer, 4096, 12), found)

    assert found.tolist() == [1024, 1025, 1026]


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


def test_instructions_cannot_be_held_back_from_a_driver_without_ptx(
    device: OpenCLDevice, naive_kernel: MakeKernel
) -> None:
    kernel = naive_kernel()

    with pytest.raises(BuildError, match=r"needs a driver that gives binaries as PTX text"):
        device.build(replace(kernel, source=kernel.source + HELD_BACK))


def test_a_source_that_holds_instructions_back_is_built_and_what_comes_out_again(
    device: OpenCLDevice, naive_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = naive_kernel()
    taken: list[bytes] = []

    def take(binary: bytes) -> bytes:  # PoCL's is no PTX, but can be built again, too
        taken.append(binary)
        return binary

    monkeypatch.setattr("mltune.device.opencl.program.released", take)

    built = device.build(replace(kernel, source=kernel.source + HELD_BACK))

    assert [each.function_name for each in built.functions] == [kernel.name]
    assert [len(binary) > 0 for binary in taken] == [True]


@pytest.mark.parametrize(
    ("fault", "group", "message"),
    [
        ("none", (8192, 1), "8192 work-items is over the limit"),
        ("local_memory", (8, 4), "16000000 bytes of local memory are over the limit"),
    ],
)
def test_limits_are_checked_before_the_driver_is_asked(
    device: OpenCLDevice,
    naive_kernel: MakeKernel,
    fault: str,
    group: tuple[int, int],
    message: str,
) -> None:
    program = device.build(naive_kernel(fault, group=group))
    buffer = device.allocate(4096)
    problem = gemm_problem(gemm(Precision.SINGLE), 1, 1, 1)

    with pytest.raises(LimitError, match=message):
        device.launch(program, problem, a=buffer, b=buffer, c=buffer)


def test_a_buffer_over_the_limit_is_refused(device: OpenCLDevice) -> None:
    with pytest.raises(LimitError, match="over the device's limit"):
        device.allocate(device.info.max_alloc_bytes + 1)


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
