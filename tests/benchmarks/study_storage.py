"""What it costs several processes to share one Optuna study, by how they share it.

    python -m tests.benchmarks.study_storage --flush

Starts a PostgreSQL of its own (Debian's `postgresql`; with --flush it flushes every commit to the
disk), and lets processes make trials that measure nothing: 25 parameters, 16 values reported, 3
attributes. Before each trial a process reads what all others have found, as a sampler does that
learns. A line for each way and number of processes says how many trials a second they made, and
what a trial took of the processor: in the processes, and in the servers behind them (PostgreSQL;
for gRPC the proxy, too). Each line ends after --trials, or after --seconds.

The proxy needs grpcio and protobuf; its lines are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import make_url

from mltune.kernel.space_file import parse_space
from mltune.measurement import Status
from mltune.run.registry import begin_study
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store
from mltune.runner.replay import ReplayRunner
from mltune.search.distributions import distributions_of, family_distribution
from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.space import Space
from mltune.space.union import FAMILY, without_family
from mltune.tuning.mean import geometric_mean
from mltune.tuning.recorder import AtOnce
from mltune.tuning.session import MeasurementSession
from mltune.tuning.shared_queue import SharedQueue
from mltune.tuning.shared_study import SharedStudy
from mltune.tuning.sharing import joined, own_seed
from mltune.tuning.trial import Trial
from mltune.workflow.run_setup import new_study, open_writer
from tests import postgres, simulated

_PARAMETERS, _SIZES = 24, 16  # and the family
_SPACE = "name: simulated\nfamily: tiled\nabout: Nothing.\nparameters:\n" + "\n".join(
    f"  parameter_{number}: {{values: [1, 2, 4, 8]}}" for number in range(_PARAMETERS)
)
_STUDY = "study"
_COLUMNS = (
    *("study", "storage", "processes", "trials", "trials/s"),
    *("a process's CPU ms a trial", "the servers'"),
)
_PROXY = "proxy"

MakeTrial = Callable[[], object]
"""Makes one trial from its proposal to its end."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a study is shared: a database's URL, a file, or a proxy's port; and mltune's run."""

    where: str
    info: RunInfo


@dataclass(frozen=True, slots=True)
class Way:
    """One way to share a study.

    Attributes:
        storage: `postgresql`, `sqlite`, `journal file`, `gRPC proxy` or `memory`.
        begin: makes the study, in a process of its own.
        join: takes part.
    """

    name: str
    storage: str
    begin: Callable[[Place], object]
    join: Callable[[Place], AbstractContextManager[MakeTrial]]


# What a trial is.


@cache
def _space() -> Space:
    return parse_space(_SPACE, "simulated").bind({})


@cache
def _distributions() -> dict[str, BaseDistribution]:
    family: BaseDistribution = family_distribution(("tiled",))
    return {FAMILY: family, **distributions_of(_space().parameters)}


def _values() -> dict[int, float]:
    return {size: random.uniform(1.0, 2.0) for size in range(_SIZES)}


_ATTRIBUTES = {"status": "ok", "kernel": "Kernel_0123456789abcdef", "message": "none"}


# mltune: a queue in the database, a study in memory for each process.


def _begin_run(place: Place) -> None:
    with Store(place.where, run=place.info.id) as store:
        begin_study(store, place.info)


@contextmanager
def _mltune(place: Place, *, shown: bool) -> Iterator[MakeTrial]:
    """Yield what makes a trial with a worker's queue and study, without measurements."""
    info = place.info
    with Store(place.where, run=info.id) as store, joined(info, store, str(os.getpid())) as trials:
        study = new_study(info, _space(), own_seed(), simulated.ignore)
        runner = ReplayRunner((), info.device)
        session = MeasurementSession(runner, info.objective)
        queue = SharedQueue(
            *(study, runner, info.problems, trials, store.trial, session),
            *(AtOnce(lambda row: row), simulated.ignore),
        )

        def make_trial() -> None:
            job = queue.next()
            if job is None or job.proposal is None:
                raise RuntimeError("the queue has no trial")
            values = _values()
            for size, value in values.items():
                job.proposal.report(size, value)
            job.proposal.describe(_ATTRIBUTES)
            trial = Trial(job.trial.number, job.trial.config, ())
            queue.finish(trial, values)
            study.tell(job.proposal, trial, values)

        with ExitStack() as stack:
            if shown:
                url = make_url(place.where)
                writer = partial(open_writer, info, url)
                shared = SharedStudy(study, trials, writer, simulated.ignore)
                queue.on_news(stack.enter_context(shared).hear)
            stack.enter_context(queue)
            yield make_trial


# Optuna's storages.


def _storage(where: str) -> BaseStorage:
    if where.startswith(_PROXY):
        proxy = optuna.storages.GrpcStorageProxy(port=int(where.removeprefix(_PROXY)))
        proxy.wait_server_ready(timeout=30)
        return proxy
    if "://" not in where:
        return JournalStorage(JournalFileBackend(where))
    waits = {"connect_args": {"timeout": 60}} if where.startswith("sqlite") else {}
    return RDBStorage(where, engine_kwargs=waits)


def _begin_study(place: Place) -> None:
    optuna.create_study(storage=_storage(place.where), study_name=_STUDY)


def _asked(study: optuna.Study) -> optuna.Trial:
    """Ask for a trial; the sampler has read all trials."""
    return study.ask(_distributions())


def _sampler() -> RandomSampler:
    return RandomSampler(_space(), own_seed())


def _try(study: optuna.Study) -> FrozenTrial:
    """Ask, report and tell, like a user of Optuna."""
    trial = _asked(study)
    values = _values()
    for size, value in values.items():
        trial.report(value, size)
    for name, attribute in _ATTRIBUTES.items():
        trial.set_user_attr(name, attribute)
    return study.tell(trial, geometric_mean(values.values()))


@contextmanager
def _piece_by_piece(place: Place) -> Iterator[MakeTrial]:
    """Use the shared study directly: Optuna writes each parameter separately."""
    study = optuna.load_study(storage=_storage(place.where), study_name=_STUDY, sampler=_sampler())
    yield partial(_try, study)


@contextmanager
def _whole(place: Place) -> Iterator[MakeTrial]:
    """Use a study in memory; the shared study gets each trial when it has ended.

    No process sees which trials run elsewhere, and nothing keeps two from trying one config.
    """
    shared = optuna.load_study(storage=_storage(place.where), study_name=_STUDY)
    own = optuna.create_study(sampler=_sampler())
    heard = 0

    def make_trial() -> None:
        nonlocal heard
        trials = shared.get_trials(deepcopy=False)
        own.add_trials(
            trial for trial in trials[heard:] if trial.user_attrs["process"] != os.getpid()
        )
        heard = len(trials)
        trial = _try(own)
        trial.user_attrs["process"] = os.getpid()
        shared.add_trial(trial)

    yield make_trial


@contextmanager
def _in_memory(place: Place) -> Iterator[MakeTrial]:
    """Use a study in memory alone, to measure Optuna's and the sampler's own time."""
    study = optuna.create_study(sampler=_sampler())
    yield partial(_try, study)


# mltune's queue behind Optuna's interface.


class _TakenError(Exception):
    """Another process has claimed the config."""


class _QueueStorage(InMemoryStorage):
    """A minimal storage: claims trials from mltune's queue, and learns those of others.

    Optuna numbers a trial and then gives it its parameters one by one, so only the last of them
    can claim the config; numbers are this process's. What runs elsewhere is not told. A storage
    for use would also need the taking up of trials, measurements proved by their leases, the
    numbers of the run, and Optuna's tables for the dashboard.
    """

    def __init__(self, trials: SharedTrials) -> None:
        super().__init__()
        self._trials = trials
        self._numbers: dict[int, int] = {}
        self._mine: set[int] = set()
        self._heard = self._begun = 0

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        news = self._trials.news(self._heard, self._begun)
        for finished in news.finished:
            if finished.number not in self._mine:
                super().create_new_trial(study_id, _told(finished.config, finished.values or ()))
        self._heard += len(news.finished)
        self._begun = news.counts.claimed
        return super().create_new_trial(study_id, template_trial)

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: Any
    ) -> None:
        super().set_trial_param(trial_id, param_name, param_value_internal, distribution)
        trial = self.get_trial(trial_id)
        if len(trial.params) > _PARAMETERS:
            number = self._trials.claim(without_family(Config.of(trial.params)))
            if number is None:
                raise _TakenError
            self._numbers[trial_id] = number
            self._mine.add(number)

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Any = None) -> bool:
        changed = super().set_trial_state_values(trial_id, state, values)
        if state.is_finished():
            steps = self.get_trial(trial_id).intermediate_values
            logs = {size: math.log(value) for size, value in steps.items()}
            self._trials.finish(self._numbers.pop(trial_id), logs, Status.OK)
        return changed


def _told(config: Config, logs: Iterable[tuple[int, float]]) -> FrozenTrial:
    values = {size: math.exp(log) for size, log in logs}
    return optuna.trial.create_trial(
        value=geometric_mean(values.values()),
        params={FAMILY: "tiled", **config},
        distributions=_distributions(),
        intermediate_values=values,
    )


@contextmanager
def _behind_interface(place: Place) -> Iterator[MakeTrial]:
    """Use mltune's tables through Optuna's `BaseStorage`."""
    with (
        Store(place.where, run=place.info.id) as store,
        joined(place.info, store, str(os.getpid())) as trials,
    ):
        study = optuna.create_study(storage=_QueueStorage(trials), sampler=_sampler())
        yield partial(_try, study)


def _nothing(place: Place) -> None:
    """Do nothing: the study is in memory."""


_WAYS = (
    Way("in memory, not shared", "memory", _nothing, _in_memory),
    Way("mltune, not shown", "postgresql", _begin_run, partial(_mltune, shown=False)),
    Way("mltune", "postgresql", _begin_run, partial(_mltune, shown=True)),
    Way("mltune", "sqlite", _begin_run, partial(_mltune, shown=True)),
    Way("mltune's queue as a storage, not shown", "postgresql", _begin_run, _behind_interface),
    Way("Optuna, ask and tell", "postgresql", _begin_study, _piece_by_piece),
    Way("Optuna, ask and tell", "sqlite", _begin_study, _piece_by_piece),
    Way("Optuna, ask and tell", "journal file", _begin_study, _piece_by_piece),
    Way("Optuna, ask and tell", "gRPC proxy", _begin_study, _piece_by_piece),
    Way("Optuna, whole at the end", "postgresql", _begin_study, _whole),
    Way("Optuna, whole at the end", "sqlite", _begin_study, _whole),
    Way("Optuna, whole at the end", "journal file", _begin_study, _whole),
    Way("Optuna, whole at the end", "gRPC proxy", _begin_study, _whole),
)


# The measurement.


def main() -> int:
    """Print a line for each way and number of processes."""
    options = _options()
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    bin_folder = postgres.programs_or_exit()
    has_grpc = importlib.util.find_spec("grpc") is not None
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|")
    for way in _WAYS:
        if options.only not in f"{way.name} {way.storage}":
            continue
        if way.storage == "gRPC proxy" and not has_grpc:
            print(f"| {way.name} | {way.storage} | grpcio is not installed |")
            continue
        for processes in options.processes:
            with (
                tempfile.TemporaryDirectory() as name,
                postgres.server(bin_folder, flush=options.flush) as server,
            ):
                print(_line(way, processes, server, Path(name), options), flush=True)
    return 0


def _line(
    way: Way,
    processes: int,
    server: postgres.Server,
    folder: Path,
    options: argparse.Namespace,
) -> str:
    cells = [way.name, way.storage, str(processes)]
    with _place(way, server, folder) as (place, proxy):
        if not simulated.ended_well(simulated.fork(partial(way.begin, place))):
            return f"| {' | '.join(cells)} | cannot begin |"
        before = _servers_seconds(server, proxy)
        share = options.trials // processes
        work = partial(_work, way, place, folder, share, options)
        numbers = [simulated.fork(work) for _ in range(processes)]
        while len(list(folder.glob("*.ready"))) < processes:
            time.sleep(0.02)
        began = time.monotonic()
        (folder / "go").touch()
        failed = sum(not simulated.ended_well(number) for number in numbers)
        answers = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        time.sleep(1)  # the server's processes end after their clients
        behind = _servers_seconds(server, proxy) - before
    trials = sum(answer["trials"] for answer in answers)
    if failed or not trials:
        return f"| {' | '.join(cells)} | {failed} processes failed |"
    seconds = max(answer["ended"] for answer in answers) - began
    own = sum(answer["used"] for answer in answers)
    cells += [str(trials), f"{trials / seconds:.1f}", f"{1e3 * own / trials:.1f}"]
    cells.append(f"{1e3 * behind / trials:.1f}" if way.storage in _SERVED else "none")
    return f"| {' | '.join(cells)} |"


_SERVED = ("postgresql", "gRPC proxy")


def _work(way: Way, place: Place, folder: Path, share: int, options: argparse.Namespace) -> None:
    """Make a process's share of the trials, and write its processor time into the folder."""
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    trials = 0
    with way.join(place) as make_trial:
        (folder / f"{os.getpid()}.ready").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        used = time.process_time()
        end = time.monotonic() + options.seconds
        while trials < share and time.monotonic() < end:
            make_trial()
            trials += 1
            time.sleep(options.pause)
        ended = time.monotonic()
    used = time.process_time() - used
    answer = {"trials": trials, "ended": ended, "used": used}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(answer))


@contextmanager
def _place(way: Way, server: postgres.Server, folder: Path) -> Iterator[tuple[Place, int | None]]:
    """Yield the place of the study, and the process number of the proxy if there is one."""
    info = simulated.run_info(_SPACE, 10**6, _SIZES)
    url = server.url.render_as_string(hide_password=False)
    match way.storage:
        case "gRPC proxy":
            port = postgres.free_port()
            number = simulated.fork(partial(_serve, url, port))
            try:
                yield Place(f"{_PROXY}{port}", info), number
            finally:
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)
        case "sqlite":
            yield Place(f"sqlite:///{folder / 'study.db'}", info), None
        case "journal file":
            yield Place(str(folder / "journal.log"), info), None
        case _:
            yield Place(url, info), None


def _serve(url: str, port: int) -> None:
    storage = optuna.storages.get_storage(url)
    optuna.storages.run_grpc_proxy_server(storage, host="localhost", port=port)


def _servers_seconds(server: postgres.Server, proxy: int | None) -> float:
    """Return the processor time of PostgreSQL's ended processes and of the proxy."""
    used = postgres.cpu_seconds(server.pid, of_ended_children=True)
    return used + (postgres.cpu_seconds(proxy) if proxy is not None else 0.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--processes",
        type=lambda words: [int(word) for word in words.split(",")],
        default=[1, 8],
    )
    parser.add_argument("--trials", type=int, default=200, help="of each line")
    parser.add_argument("--seconds", type=float, default=30, help="that a line takes at most")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each trial")
    parser.add_argument("--only", default="", help="lines whose first two cells contain this")
    parser.add_argument("--flush", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
