"""Shows a run of several processes as one Optuna study, which one process writes for all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime
from typing import Self

from optuna.trial import FrozenTrial

from mltune.errors import MltuneError
from mltune.run.shared_trials import Begun, Finished, News, SharedTrials
from mltune.tuning.background_call import BackgroundCall
from mltune.tuning.study import TuningStudy
from mltune.tuning.study_writer import StudyWriter

_LOOK_SECONDS = 5.0
"""Seconds between attempts to get the lease of the study."""
_FIRST_LOOK_SECONDS = 4.0
"""Seconds until the first attempt. It is late, as making Optuna's tables would delay processes
that begin.
"""


class SharedStudy:
    """Writes the study while this process holds the lease of the study.

    Args:
        study: the study of this process, which knows how a trial looks in Optuna.
        shared: the trials of the run.
        open_writer: opens the database.
        note: called with one line that says why the study cannot be written.
        is_apart: whether a thread may take the lease and open the database while the device
            measures.
    """

    def __init__(
        self,
        study: TuningStudy,
        shared: SharedTrials,
        open_writer: Callable[[], StudyWriter],
        note: Callable[[str], None],
        *,
        is_apart: bool = False,
    ) -> None:
        self._study = study
        self._shared = shared
        self._open_writer = open_writer
        self._note = note
        self._writer: StudyWriter | None = None
        self._looked = -math.inf
        self._looking = BackgroundCall(self._look, in_thread=is_apart)
        self._unwritten: list[News] = []

    def hear(self, news: News) -> None:
        """Write the news if this process holds the lease; otherwise try to get the lease."""
        self._unwritten.append(news)
        if self._looking.is_done:
            self._looking.collect()
        if not self._looking.is_begun:
            if self._writer is not None:
                for each in self._unwritten:
                    self._write(self._writer, each)
            self._unwritten.clear()
            now = time.monotonic()
            if now - self._looked >= _LOOK_SECONDS:
                self._looked = now
                if self._looking.has_thread:
                    self._looking.begin()
                else:
                    self._looking.collect()

    def __enter__(self) -> Self:
        self._looking.__enter__()
        if self._looking.has_thread:
            self._looked = time.monotonic() - _LOOK_SECONDS + _FIRST_LOOK_SECONDS
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is pending, and give the lease back."""
        self._looking.__exit__()
        self._looking.drop()
        self._close_writer()

    def _look(self) -> None:
        if not self._shared.take_study():
            self._close_writer()
        elif self._writer is None:
            try:
                writer = self._open_writer()
                whole = self._shared.news(0, 0)
                ended = {one.number: self._ended(one) for one in whole.finished}
                writer.rebuild(ended)
                self._write(writer, News(whole.counts, (), whole.begun))
                self._study.listen(writer.note)
                self._writer = writer
            except MltuneError as error:
                self._note(f"{error}; the search continues without a study for dashboards")
                self._looked = math.inf
                self._close_writer()

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        self._study.listen(lambda number, trial: None)
        if writer is not None:
            writer.close()

    def _write(self, writer: StudyWriter, news: News) -> None:
        for begun in news.begun:
            writer.note(begun.number, self._running(begun))
        for finished in news.finished:
            writer.note(finished.number, self._ended(finished))

    def _running(self, begun: Begun) -> FrozenTrial:
        trial = self._study.running(begun.config)
        trial.datetime_start = _moment(begun.began)
        return trial

    def _ended(self, finished: Finished) -> FrozenTrial:
        values = {size: math.exp(log) for size, log in finished.values or ()}
        trial = self._study.frozen(finished.config, values, finished.status)
        trial.datetime_start, trial.datetime_complete = map(
            _moment, (finished.began, finished.ended)
        )
        return self._study.with_estimate(trial)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds)
