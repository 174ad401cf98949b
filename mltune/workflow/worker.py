"""`mltune worker`: take part in a search that is kept in a shared database."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError
from mltune.problem import problem_type_name
from mltune.record.board import Counts
from mltune.record.database import PATIENCE_SECONDS, read_url
from mltune.record.registry import enter, read_study
from mltune.record.run import describe_shared
from mltune.record.run_info import RunInfo
from mltune.record.store import Store
from mltune.runner.capacity import refuse_too_large
from mltune.workflow.crew import Crew, all_devices, share_of_builders
from mltune.workflow.equipment import (
    Note,
    bound_space,
    check_family,
    library_of,
    mirror,
    open_runner,
)
from mltune.workflow.families import family_named
from mltune.workflow.options import without_password
from mltune.workflow.progress import Show
from mltune.workflow.shared_session import SharedSession
from mltune.workflow.sharing import device_key, joined, own_seed, study_name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of `mltune worker`; None stands for an option that was not given."""

    storage: str
    device: str = "auto"
    study: str | None = None
    folder: Path | None = None
    builders: int | None = None
    time_limit_seconds: float | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResult:
    """What a worker did.

    Attributes:
        info: of the run that it worked on.
        trials: how many it finished.
        counts: how far the run has come, by whoever.
        stopped: why it ended before its end by itself; empty if it did not.
    """

    study: str
    info: RunInfo
    trials: int
    counts: Counts
    seconds: float
    interrupted: bool
    stopped: str

    @property
    def exit_code(self) -> int:
        """0, 130 when it was interrupted, or 4 when the device was lost."""
        return 130 if self.interrupted else 4 if self.stopped else 0

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "study": self.study,
            "run": self.info.id,
            "device": self.info.device.name,
            "problem": problem_type_name(self.info.contraction),
            "trials": self.trials,
            "finished": self.counts.finished,
            "budget": self.counts.budget,
            "concluded": self.counts.concluded,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "exit_code": self.exit_code,
        }


def work_on_all(options: WorkerOptions, note: Note) -> list[dict[str, Any]]:
    """Start a worker for each device, and return what each of them did.

    Raises:
        UsageError: when an option is wrong, or the database holds no such study.
        NoDeviceError: when there is no device.
        MltuneError: when a worker failed, which has said why.
    """
    url = read_url(options.storage)
    with Store(url, create=False) as store:
        study = read_study(store, options.study).id
    devices = all_devices()
    note(f"a worker for each of {len(devices)} devices: {devices[0].info.name}")
    builders = share_of_builders(devices) if options.builders is None else options.builders
    more = ["--builders", str(builders)]
    if options.time_limit_seconds is not None:
        more += ["--time-limit", str(options.time_limit_seconds)]
    with Crew(devices, options.storage, study, more) as crew:
        return crew.wait()


def work(options: WorkerOptions, show: Show, note: Note) -> WorkerResult:
    """Measure trials of a study until none is left.

    Ctrl-C ends it early: what it has begun is taken up by others.

    Args:
        options: what was asked.
        show: is told about the progress after every trial.
        note: is told single lines, such as what it works on.

    Raises:
        UsageError: when an option is wrong, or the database holds no such study.
        NoDeviceError: when there is no such device.
        MltuneError: when the database was away for too long.
    """
    started = time.monotonic()
    url = read_url(options.storage)
    with Store(url, create=False) as store:
        asked = read_study(store, options.study)
    interrupted, stopped = False, ""
    with open_runner(asked, options.device, "worker", builders=options.builders) as runner:
        command = without_password(options.command, options.storage)
        info = _run_of(runner.device, asked, url, command)
        if options.folder is not None:
            describe_shared(options.folder, info, url)
        space = bound_space(info)
        library = library_of(info, space, own_seed(), note)
        note(
            f"study {asked.id}: {problem_type_name(info.contraction)} on "
            f"{runner.device.name}, {space.size:,} configs, {len(info.sizes)} sizes"
        )
        key = device_key(runner.device, runner.device_number)
        with (
            Store(url, run=info.id, patience_seconds=PATIENCE_SECONDS) as store,
            joined(info, store, key) as board,
        ):
            session = SharedSession(info, store, board, runner, library, show, note)
            try:
                # The run of the search itself is copied by the search.
                if session.work(options.time_limit_seconds) and info.id != asked.id:
                    mirror(store, space, url, study_name(info), show)
            except KeyboardInterrupt:
                interrupted = True
            except DeviceGoneError as error:
                stopped = str(error)
    return WorkerResult(
        study=asked.id,
        info=info,
        trials=session.measured,
        counts=session.counts,
        seconds=time.monotonic() - started,
        interrupted=interrupted,
        stopped=stopped,
    )


def _run_of(device: DeviceInfo, asked: RunInfo, url: URL, command: tuple[str, ...]) -> RunInfo:
    """The run of a device's model; a new one if it is the first of its model in the study."""
    info = asked.asked_of(device, command)
    refuse_too_large(info.cross_problems, device)
    family = family_named(info.family, "worker", info.kernels)
    check_family(family, info.contraction, bound_space(info))
    with Store(url) as store:
        return enter(store, asked.id, info)
