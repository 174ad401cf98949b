"""C's place between wide margins, on a real device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mltune.device import Device, LaunchError, open_device
from mltune.runner.arena import Arena, Place
from mltune.runner.data import GUARD_BYTES, PATTERN_BYTE

_MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


def write(arena: Arena, place: Place, byte_from_tensor: int) -> None:
    """Write eight bytes at a distance from the tensor's first byte."""
    arena._device.write(arena._buffer, np.zeros(8, np.uint8), place.first_byte + byte_from_tensor)


@pytest.mark.parametrize(
    "distance",
    [-8, -GUARD_BYTES, -GUARD_BYTES - 8, -4 * _MEBIBYTE, 1000, 1000 + GUARD_BYTES, 16 * _MEBIBYTE],
)
def test_a_write_around_the_tensor_is_seen_once(device: Device, distance: int) -> None:
    arena = Arena(device)
    for _ in range(3):
        place = arena.move(self := object(), 1000)
        assert arena.untouched()
        write(arena, place, distance)

        assert not arena.untouched()
        arena.place(self, 1000)
        assert arena.untouched()


def test_a_write_inside_is_none_around_and_is_gone_when_the_tensor_moves(
    device: Device,
) -> None:
    arena, tenant = Arena(device), object()
    place = arena.place(tenant, 4000)
    device.write(place.inside, np.zeros(4000, np.uint8))

    assert arena.place(tenant, 4000) is place
    assert arena.untouched()
    moved = arena.place(object(), 5000)
    found = np.empty(moved.whole.size, np.uint8)
    device.read(moved.whole, found)
    assert (found == PATTERN_BYTE).all()
    assert arena.untouched()


def test_a_larger_tensor_has_as_wide_margins(device: Device) -> None:
    arena = Arena(device)
    arena.place(object(), 100)
    place = arena.place(object(), 3 * _MEBIBYTE)

    assert place.first_byte > 4 * _MEBIBYTE
    assert arena._buffer.size - place.first_byte - place.nbytes > 16 * _MEBIBYTE


def test_places_differ(device: Device) -> None:
    arenas = [Arena(device) for _ in range(4)]  # the places of one may all be drawn alike

    assert len({each.move(each, 100).first_byte for each in arenas for _ in range(16)}) > 1


def test_kernels_of_a_gpu_are_given_few_parts_however_many_tensors_there_are(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "_info", replace(device.info, kind="gpu"))
    arena = Arena(device)
    arena.place(object(), 4000)  # the largest

    places = [arena.move(object(), nbytes) for nbytes in range(100, 4000, 100)]

    assert 1 < len({place.inside.int_ptr for place in places}) <= 4


def test_margins_are_given_up_where_a_buffer_cannot_be_larger(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = replace(device.info, max_alloc_bytes=4 * GUARD_BYTES)
    monkeypatch.setattr(device, "_info", narrow)
    arena = Arena(device)

    place = arena.place(object(), 2 * GUARD_BYTES)

    assert arena._buffer.size == narrow.max_alloc_bytes
    write(arena, place, -8)
    assert not arena.untouched()


@pytest.mark.parametrize(("most", "size"), [(16, 8), (4, 4)])
def test_margins_are_narrower_where_there_is_little_memory(
    device: Device, monkeypatch: pytest.MonkeyPatch, most: int, size: int
) -> None:
    allocate = type(device).allocate

    def allocate_little(of: Device, nbytes: int) -> object:
        if nbytes > most * _MEBIBYTE:
            raise LaunchError("no memory is left")
        return allocate(of, nbytes)

    monkeypatch.setattr(type(device), "allocate", allocate_little)
    arena = Arena(device, margin_bytes=32 * _MEBIBYTE)

    arena.place(object(), _MEBIBYTE)

    assert arena._buffer.size // _MEBIBYTE == size
    with pytest.raises(LaunchError):
        arena.place(object(), 17 * _MEBIBYTE)


def test_a_write_where_the_tensor_moves_next_is_seen(device: Device) -> None:
    arena = Arena(device)
    place = arena.place(object(), 1000)
    arena.watch()
    write(arena, place, 4 * GUARD_BYTES)
    arena._firsts = [place.first_byte + 3 * GUARD_BYTES]

    arena.move(object(), 1000)

    assert not arena.untouched()
