"""The machine and the Python that ran a search, and what affects times there."""

from __future__ import annotations

import contextlib
import platform
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from mltune.machine import usable_cores
from mltune.run.fields import Fields

_BUSY = 0.5  # share of the cores
_GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
_BOOST = "sys/devices/system/cpu/cpufreq/boost"
_NO_TURBO = "sys/devices/system/cpu/intel_pstate/no_turbo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine, as it was when a run began.

    Attributes:
        cores: that this process may use; 0 if the run does not say.
        load: processes that wanted to run, as a mean over the last minute; -1 if unknown.
        governor: of the processor's clock, such as `performance`; empty if unknown.
        boost: `on` or `off`: whether the clock may rise above its nominal value; empty if unknown.
    """

    python: str
    platform: str
    cores: int = 0
    load: float = -1.0
    governor: str = ""
    boost: str = ""

    @property
    def is_busy(self) -> bool:
        """Whether other processes are likely to disturb measurements."""
        return self.load > _BUSY * self.cores

    @classmethod
    def here(cls, root: Path = Path("/")) -> Self:
        """Describe this machine.

        Args:
            root: of the system's files.
        """
        boost = _read(root / _BOOST) or {"0": "1", "1": "0"}.get(_read(root / _NO_TURBO), "")
        words = _read(root / "proc/loadavg").split()
        return cls(
            python=platform.python_version(),
            platform=platform.platform(),
            cores=len(usable_cores()),
            load=float(words[0]) if words else -1.0,
            governor=_read(root / _GOVERNOR),
            boost={"0": "off", "1": "on"}.get(boost, ""),
        )

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `dataclasses.asdict` returns.

        Raises:
            UsageError: when it is no such mapping.
        """
        read = Fields(data, "host")
        read.only(field.name for field in fields(cls))
        if "cores" not in read:  # the first runs did not record the other fields
            return cls(python=read.text("python"), platform=read.text("platform"))
        return cls(
            python=read.text("python"),
            platform=read.text("platform"),
            cores=read.whole("cores"),
            load=read.number("load"),
            governor=read.text("governor"),
            boost=read.text("boost"),
        )


def _read(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return ""
