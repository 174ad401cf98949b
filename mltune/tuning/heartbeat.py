"""Renews a process's leases in a shared database while the process works."""

from __future__ import annotations

import logging
import threading
from typing import Self

from mltune.errors import MltuneError
from mltune.run.shared_trials import SharedTrials

_log = logging.getLogger(__name__)


class Heartbeat:
    """A thread that renews the leases of a shared run at intervals, until it is closed."""

    def __init__(self, shared: SharedTrials, seconds: float) -> None:
        self._shared = shared
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._shared.renew()
            except MltuneError as error:
                # The holder of a lost lease will notice; the next beat may succeed.
                _log.warning("%s", error)
