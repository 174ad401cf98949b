"""Memory is looked at to its last word, and several stretches have one answer."""

from __future__ import annotations

import numpy as np
import pytest

from mltune.device import OpenCLDevice

BYTES = 4096 + 8 * 1003


@pytest.fixture(scope="module")
def device(device_spec: str) -> OpenCLDevice:
    return OpenCLDevice.open(device_spec)


@pytest.mark.parametrize("place", [0, 8, 4095, 4096, BYTES // 2, BYTES - 1])
def test_another_byte_in_any_stretch_is_found_until_it_is_forgotten(
    device: OpenCLDevice, place: int
) -> None:
    buffer, check = device.allocate(BYTES), device.inspection.pattern_check(7)
    bytes_ = np.full(BYTES, 7, np.uint8)
    bytes_[place] = 8
    device.write(buffer, bytes_)

    check.look(buffer, 0, 4096)
    check.look(buffer, 4096, BYTES)
    check.look(buffer, 64, 64)

    assert not check.is_whole()
    check.begin()
    first, last = place // 8 * 8, place // 8 * 8 + 8
    check.look(buffer, 0, first)
    check.look(buffer, last, BYTES)
    assert check.is_whole()


def test_two_checksums_at_once_are_those_of_each(device: OpenCLDevice) -> None:
    one, two = device.allocate(BYTES), device.allocate(4096)
    device.fill(one, 1)
    device.fill(two, 2)
    look = device.inspection

    assert look.checksums(one, two) == look.checksums(one) + look.checksums(two)
    assert look.checksums(two, one) == look.checksums(two) + look.checksums(one)
