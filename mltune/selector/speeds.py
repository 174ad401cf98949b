"""The times that a pack states for a few sizes, for the check at its first use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mltune.files import write_atomically
from mltune.selector.checked import read_json

SPEEDS_NAME = "speeds.json"
FORMAT = "mltune speeds"
_MOST_EXTENT = 2**31 - 1
_MOST = 16


@dataclass(frozen=True, slots=True)
class Speed:
    """The chosen kernel's time for one size on the pack's device.

    Attributes:
        size: m, n, k and the number of products.
        seconds: kernel time, the median of its samples.
    """

    size: tuple[int, int, int, int]
    seconds: float

    @property
    def label(self) -> str:
        """The size as a user writes it."""
        return "x".join(map(str, self.size if self.size[3] != 1 else self.size[:3]))


def write_speeds(speeds: Iterable[Speed], folder: Path) -> None:
    """Write the file of times into a pack's folder.

    Raises:
        MltuneError: when it cannot be written.
    """
    rows = [{"size": each.size, "seconds": each.seconds} for each in speeds]
    document = {"format": FORMAT, "schema_version": 1, "speeds": rows}
    write_atomically(folder / SPEEDS_NAME, f"{json.dumps(document, indent=1)}\n".encode())


def read_speeds(folder: Path) -> tuple[Speed, ...]:
    """Read what `write_speeds` wrote; everything in the file is checked.

    Raises:
        UsageError: when it is no such file, with the field that is wrong.
    """
    fields = read_json(folder / SPEEDS_NAME).fields("format", "schema_version", "speeds")
    fields["format"].exactly(FORMAT)
    fields["schema_version"].exactly(1)
    speeds = []
    for row in fields["speeds"].entries()[:_MOST]:
        given = row.fields("size", "seconds")
        m, n, k, batch = (each.whole(1, _MOST_EXTENT) for each in given["size"].entries(4))
        speeds.append(Speed((m, n, k, batch), given["seconds"].number(1e-9, 1e4)))
    return tuple(speeds)
