import numpy as np
import pytest

from mltune.device import OpenCLDevice
from mltune.runner.data import GUARD_BYTES
from mltune.runner.scratch import Scratch


@pytest.fixture(scope="module")
def device(device_spec: str) -> OpenCLDevice:
    return OpenCLDevice.open(device_spec)


def test_nothing_is_made_for_a_kernel_that_needs_none(device: OpenCLDevice) -> None:
    scratch = Scratch(device)

    assert scratch.of(0) is None
    assert scratch.guards_untouched()


def test_it_is_not_a_number_until_it_is_written_and_after_it_is_spoilt(
    device: OpenCLDevice,
) -> None:
    scratch, found = Scratch(device), np.empty(25, np.float32)
    inside = scratch.of(found.nbytes)
    device.read(inside, found)
    assert np.isnan(found).all()

    device.write(inside, np.zeros_like(found))
    scratch.spoil()
    device.read(inside, found)

    assert np.isnan(found).all()


def test_the_same_memory_serves_until_another_size_is_asked_for(device: OpenCLDevice) -> None:
    scratch = Scratch(device)
    first = scratch.of(100)

    assert scratch.of(0) is None
    assert scratch.of(100) is first
    assert scratch.of(96) is not first


@pytest.mark.parametrize("place", [0, GUARD_BYTES - 1, GUARD_BYTES + 101, 2 * GUARD_BYTES + 100])
def test_a_write_around_it_is_seen(device: OpenCLDevice, place: int) -> None:
    scratch = Scratch(device)
    scratch.of(101)
    assert scratch.guards_untouched()
    whole = np.full(GUARD_BYTES + 104 + GUARD_BYTES, 0xFF, np.uint8)
    whole[place] = 0

    device.write(scratch._buffer, whole)

    assert not scratch.guards_untouched()


def test_a_write_inside_is_none_around(device: OpenCLDevice) -> None:
    scratch = Scratch(device)
    device.write(scratch.of(101), np.zeros(101, np.uint8))

    assert scratch.guards_untouched()
