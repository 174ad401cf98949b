"""The memory that holds C: far wider than C, and filled with a pattern that shows every write.

All problems share one arena in turns, so that its margins may be wide: a write 4 MiB before C or
16 MiB behind it is seen. C moves to another place whenever its contents are restored.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from mltune.device import Buffer, Device, LaunchError
from mltune.runner.cache import Cache
from mltune.runner.data import GUARD_BYTES, PATTERN_BYTE

_MARGIN_BYTES = {"cpu": 32 << 20}
_GPU_MARGIN_BYTES = 128 << 20
_MEMORY_SHARE = 64  # of the device's memory, at most
_STEP = 2 << 20  # C keeps its offset in a page of the largest size, so that times are comparable
_BEFORE = (3, 6)  # sixteenths of the margins that are before C: 6 MiB at least, and 20 behind
_LEAST_ROOM = 4 << 20
_GPU_ROOM = 64 << 20  # room for most sizes, so that an arena rarely grows
_WORD = 8
_PLACES = 4
"""Places where tensors may begin, drawn anew for each larger buffer. At each launch NVIDIA's
driver looks at all parts of a buffer that overlap: with 500 parts a second kernel of a measurement
began 1 to 3 ms late. And it crashes if a part is freed that is still a kernel's argument.
"""
_KEPT_PARTS = 256  # on a processor; a GPU has two for each place


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The place of a tensor.

    Attributes:
        whole: its guarded buffer; on a GPU it reaches to the end of the arena.
        inside: the kernels' argument; on a GPU it reaches to the end of the arena, too.
        first_byte: of the tensor in the arena.
        nbytes: of the tensor.
    """

    whole: Buffer
    inside: Buffer
    first_byte: int
    nbytes: int


class Arena:
    """One buffer on a device in which one tensor after the other has a place."""

    def __init__(self, device: Device, margin_bytes: int | None = None) -> None:
        """Make an arena without memory.

        Args:
            device: of the memory.
            margin_bytes: around the tensors (default: what suits the device).
        """
        self._device = device
        if margin_bytes is None:
            info = device.info
            most = _MARGIN_BYTES.get(info.kind, _GPU_MARGIN_BYTES)
            margin_bytes = min(most, info.global_mem_bytes // _MEMORY_SHARE)
        self._margin_bytes = margin_bytes // GUARD_BYTES * GUARD_BYTES
        self._random = random.SystemRandom()
        self._buffer: Buffer = None
        self._nbytes = self._room = 0
        self._tenant: object = None
        self._place: Place | None = None
        self._firsts: list[int] = []
        self._parts: Cache[tuple[int, int], tuple[Buffer, Buffer]] = Cache(_KEPT_PARTS)
        self._pattern = device.inspection.pattern_check(PATTERN_BYTE)
        self._is_watched = False
        self._retired: list[object] = []

    def watch(self) -> None:
        """Inspect each place before a tensor moves in, until `untouched` is called.

        The move would overwrite what a kernel wrote there: without the inspection, a write 4 MiB
        before C was missed in one of 140 measurements.
        """
        self._is_watched = True
        self._pattern.begin()

    def place(self, tenant: object, nbytes: int) -> Place:
        """Return the place of a tenant's tensor, which moves in if another tenant was there.

        Args:
            tenant: the owner of the tensor.
            nbytes: of the kernels' argument; a guard of 4 KiB is added at each end.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        if self._place is None or self._tenant is not tenant:
            return self.move(tenant, nbytes)
        return self._place

    def move(self, tenant: object, nbytes: int) -> Place:
        """Give a tenant another place, and restore the pattern in its last one.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        room = GUARD_BYTES + -(-nbytes // GUARD_BYTES) * GUARD_BYTES + GUARD_BYTES
        last, self._place = self._place, None
        if room > self._room:
            self._grow(self._rounded(room))
        elif last is not None:
            self._wipe(last.first_byte // GUARD_BYTES * GUARD_BYTES, last.first_byte + last.nbytes)
        first = self._random.choice(self._firsts)
        if self._is_watched:
            self._pattern.look(self._buffer, first, first + room)
        self._tenant, self._place = tenant, self._place_at(first, nbytes)
        return self._place

    def untouched(self) -> bool:
        """Whether nothing was written around the tensor; then restore the pattern."""
        place = self._place
        if place is None:
            return True
        if not self._is_watched:
            self._pattern.begin()
        self._is_watched = False
        end = -(-(place.first_byte + place.nbytes) // _WORD) * _WORD
        self._pattern.look(self._buffer, 0, place.first_byte)
        self._pattern.look(self._buffer, end, self._nbytes)
        is_whole = self._pattern.is_whole()
        if not is_whole:
            self._place = None
            self._wipe(0, self._nbytes)
        return is_whole

    def _place_at(self, first: int, nbytes: int) -> Place:
        end = first + GUARD_BYTES + nbytes + GUARD_BYTES if self._is_cpu else self._nbytes
        parts = self._parts.get((first, end))
        if parts is None:
            parts = self._parts_between(first, end)
            self._parts.put((first, end), parts)
        whole, inside = parts
        return Place(whole=whole, inside=inside, first_byte=first + GUARD_BYTES, nbytes=nbytes)

    @property
    def _is_cpu(self) -> bool:
        return self._device.info.kind == "cpu"

    def _parts_between(self, first: int, end: int) -> tuple[Buffer, Buffer]:
        """Return a guarded buffer and the part between its guards."""
        inside, guard = first + GUARD_BYTES, GUARD_BYTES if self._is_cpu else 0
        return (
            self._device.part(self._buffer, first, end - first),
            self._device.part(self._buffer, inside, end - guard - inside),
        )

    def _rounded(self, room: int) -> int:
        """Return a larger size than needed, so that the next larger tensors need no new arena."""
        info = self._device.info
        usual = _LEAST_ROOM
        if info.kind != "cpu":
            usual = max(min(_GPU_ROOM, info.global_mem_bytes // _MEMORY_SHARE), _LEAST_ROOM)
        rounded = max(1 << (room - 1).bit_length(), usual)
        is_wide = 0 < self._margin_bytes <= info.max_alloc_bytes - rounded
        return rounded if is_wide else room

    def _choose(self, free: int) -> int:
        """Draw the width of the margin before a tensor."""
        step = _STEP if free >= 16 * _STEP else GUARD_BYTES
        least, most = (free * part // 16 // step for part in _BEFORE)
        return step * self._random.randint(least, most)

    def _grow(self, room: int) -> None:
        """Make a larger buffer, with narrower margins if there is not enough memory."""
        if self._device.info.kind != "cpu":
            # The old one is not freed: kernels still have its parts as arguments, and workers on
            # an H200 crashed at the launch after an arena had grown.
            self._retired.append((self._buffer, self._parts))
        self._parts = Cache(_KEPT_PARTS)
        self._buffer, self._room = None, 0  # freed before new memory is requested
        limit = self._device.info.max_alloc_bytes - room
        for wanted in (self._margin_bytes, self._margin_bytes // 8, 0):
            margin = max(min(wanted, limit), 0) // GUARD_BYTES * GUARD_BYTES
            try:
                self._buffer = self._device.allocate(room + margin)
                break
            except LaunchError:
                if margin == 0:
                    raise
        self._nbytes, self._room = room + margin, room
        self._wipe(0, self._nbytes)
        self._firsts = [self._choose(self._nbytes - room) for _ in range(_PLACES)]

    def _wipe(self, first_byte: int, end_byte: int) -> None:
        self._device.fill(self._buffer, PATTERN_BYTE, first_byte, -(-end_byte // 4) * 4)
