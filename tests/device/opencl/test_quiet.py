import pyopencl as cl
import pytest

from mltune.device import choose
from mltune.device.opencl.listing import driver_device
from mltune.device.opencl.quiet import built

pytestmark = pytest.mark.device


def test_a_compiler_that_says_something_is_not_heard(
    device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = cl.Context([driver_device(choose(device_spec))])
    source = "#warning loud\n__kernel void nothing(__global int *out) { out[0] = 0; }"

    assert cl.Kernel(built(context, source), "nothing").function_name == "nothing"
    with pytest.warns(cl.CompilerWarning):
        cl.Program(context, source).build()
