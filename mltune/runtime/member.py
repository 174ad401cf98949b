"""The GEMM of one problem type in a set, which is loaded at its first use."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, Self

from mltune.problem import Contraction
from mltune.runtime.loading import SelectorFile, load
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.selector import Selector


class Member:
    """The GEMM of one problem type; any number of threads may share it.

    To write the kernels of a device's twelve packs takes two seconds, and programs use few packs.

    Args:
        contraction: the problem type.
        source: the GEMM, or the file that it is loaded from.
        device: for host arrays, if it is loaded.
    """

    def __init__(
        self,
        contraction: Contraction,
        source: TunedGemm | SelectorFile,
        device: str | None = None,
    ) -> None:
        self.contraction = contraction
        self._source = source
        self._device = device
        self._lock, self._process = threading.Lock(), os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        """Let other processes have it, loaded or not."""
        return Member, (self.contraction, self._source, self._device)

    @classmethod
    def of(cls, tuned: TunedGemm) -> Self:
        """Return the member that a loaded GEMM is."""
        return cls(tuned.selector.contraction, tuned)

    @classmethod
    def read(cls, given: Path | Selector, device: str | None) -> Self:
        """Read a selector's file now, and load it later; take one in memory as it is.

        Raises:
            UsageError: when there is no readable file.
        """
        if isinstance(given, Selector):
            return cls.of(load(given, device=device))
        file = SelectorFile.read(given)
        return cls(file.contraction, file, device)

    @property
    def tuned(self) -> TunedGemm:
        """The GEMM.

        Raises:
            UsageError: as `load`.
            NoDeviceError: as `load`.
        """
        source = self._source
        if isinstance(source, TunedGemm):
            return source
        if self._process != os.getpid():  # a fork, and a thread before it may hold the lock
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            if isinstance(self._source, SelectorFile):
                self._source = self._source.load(device=self._device)
            return self._source

    def release(self) -> None:
        """Forget the built kernels and scratch memory, if there are any."""
        if isinstance(self._source, TunedGemm):
            self._source.release()
