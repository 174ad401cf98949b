"""A run folder: `run.json` has the options, `run.db` has the measurements."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL

from mltune.errors import UsageError, naming
from mltune.files import file_error, make_folder, write_atomically
from mltune.measurement.measurement import Measurement
from mltune.problem import Size
from mltune.reading import parse_json, read_bytes
from mltune.run.csv_table import read_table
from mltune.run.database import (
    DATABASE_NAME,
    PATIENCE_SECONDS,
    describe,
    file_url,
    passwordless,
    read_url,
    sqlite_file,
)
from mltune.run.frame import to_frame
from mltune.run.lock import FolderLock
from mltune.run.measurements import Measurements
from mltune.run.registry import begin_study, study_of
from mltune.run.run_info import RunInfo
from mltune.run.store import Store
from mltune.run.table_store import TableStore

if TYPE_CHECKING:
    import pandas as pd

INFO_NAME = "run.json"
TABLE_NAME = "measurements.csv.gz"
_CHECKSUM = "checksum"


class Run:
    """An open run folder; made by `create`, `resume` or `open`, and closed by `close`."""

    def __init__(
        self,
        folder: Path,
        info: RunInfo,
        store: Store | TableStore,
        lock: FolderLock | None = None,
        url: URL | None = None,
    ) -> None:
        self._folder = folder
        self._info = info
        self._store = store
        self._lock = lock
        self._url = url

    @classmethod
    def create(cls, folder: Path, info: RunInfo, storage: str = "") -> Run:
        """Make a run folder, lock it for this process, and open it to add measurements.

        Args:
            folder: made if it does not exist; other files in it are left alone.
            info: the run's options; their `storage` is set here.
            storage: an SQLAlchemy URL to keep the measurements in, instead of `run.db`.

        Raises:
            UsageError: when the folder holds a run already, or another process has it.
            MltuneError: when something cannot be written.
        """
        is_new = not folder.exists()
        make_folder(folder)
        if (folder / INFO_NAME).exists():
            raise UsageError(
                f"{folder}: holds a run already; continue with --resume, or give another --run"
            )
        lock = FolderLock(folder)
        store = None
        try:
            url = read_url(storage) if storage else file_url(folder / DATABASE_NAME)
            if storage:
                _refuse_own(url)
            store = _open_store(url, info.id if storage else "", create=True)
            if (folder / TABLE_NAME).exists() or store.count():
                raise UsageError(
                    f"{folder}: holds measurements but no {INFO_NAME}; give another --run"
                )
            shown = url.render_as_string(hide_password=True) if storage else ""
            info = replace(info, storage=shown)
            if storage:
                begin_study(store, info)
            # Last, so that a folder with a run.json is a complete run.
            write_info(info, folder / INFO_NAME)
        except BaseException:
            if store is not None:
                store.close()
            if is_new:
                lock.remove_with_folder()
            lock.close()
            raise
        return cls(folder, info, store, lock, url if storage else None)

    @classmethod
    def resume(cls, folder: Path, storage: str = "") -> Run:
        """Open a run to add measurements, locked for this process.

        A shipped run has `measurements.csv.gz` and no `run.db`, which is then made from it. Priors
        that moved together with the folder, as in that of `mltune tune`, are found beside it.

        Args:
            folder: of a run that `create` made.
            storage: the same again, if it has a password that is not in `~/.pgpass`.

        Raises:
            UsageError: when it is no such folder, or another process has it.
            MltuneError: when its database is damaged; it is not changed then.
        """
        info = read_info(folder)
        info = replace(info, priors=tuple(_moved_with(folder, path) for path in info.priors))
        lock = FolderLock(folder)
        store: Store | None = None
        try:
            if not info.storage and not (folder / DATABASE_NAME).exists():
                _make_database(folder)
            url = _storage_url(folder, info, storage)
            known: list[Measurement] = []
            if not info.storage:
                # SQLite writes to a file when it opens it for writing, even if it is damaged.
                with Store(url, read_only=True) as store:
                    known = store.measurements()
            store = _open_store(url, info.id if info.storage else "", create=False, known=known)
            if info.storage and study_of(store, info.id) is None:
                raise UsageError(
                    f"{folder}: is no run of {store.where} (made anew since, or the run is of an "
                    "mltune that could not share it); begin another"
                )
        except BaseException:
            if store is not None:
                store.close()
            lock.close()
            raise
        return cls(folder, info, store, lock, url if info.storage else None)

    @classmethod
    def open(cls, folder: Path, storage: str = "") -> Run:
        """Open a run to read it: nothing is written, and no file is made.

        A shipped run has `measurements.csv.gz` instead of `run.db`.

        Args:
            folder: of a run.
            storage: the same again, if it has a password that is not in `~/.pgpass`.

        Raises:
            UsageError: when it is no run folder, or cannot be read.
        """
        info = read_info(folder)
        if not info.storage and not (folder / DATABASE_NAME).exists():
            if not (folder / TABLE_NAME).exists():
                raise UsageError(f"{folder}: has neither {DATABASE_NAME} nor {TABLE_NAME}")
            return cls(folder, info, TableStore(folder / TABLE_NAME))
        url = _storage_url(folder, info, storage)
        return cls(folder, info, Store(url, read_only=True, run=info.id if info.storage else ""))

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._folder

    @property
    def info(self) -> RunInfo:
        """The options and the device of the run."""
        return self._info

    @property
    def store(self) -> Measurements:
        """The measurements, to read them."""
        return self._store

    @property
    def database(self) -> Store:
        """The measurements' database, to add to it.

        Raises:
            UsageError: when the run has a table instead.
        """
        if isinstance(self._store, TableStore):
            raise UsageError(f"{self._folder / TABLE_NAME}: opened for reading only")
        return self._store

    def add_cross_sizes(self, sizes: Sequence[Size]) -> None:
        """Add further sizes for the leaders to those of the run.

        Raises:
            MltuneError: when the folder cannot be written.
        """
        met = self._info.measured_on(each.problem for each in self._store.measurements())
        info = replace(met, cross_share=0.0, cross_sizes=(*met.cross_sizes, *sizes))
        write_info(info, self._folder / INFO_NAME)
        self._info = info

    def to_frame(self) -> pd.DataFrame:
        """Return the measurements as a pandas table: a row each, units in the column names."""
        return to_frame(self._store.measurements())

    @property
    def url(self) -> URL | None:
        """The database of a shared run, with its password."""
        return self._url

    def close(self) -> None:
        """Close the store and unlock the folder; a second call does nothing."""
        self._store.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_info(info: RunInfo, path: Path) -> None:
    """Write a `run.json`, as a whole or not at all.

    Raises:
        MltuneError: when it cannot be written.
    """
    content = info.to_json()
    content[_CHECKSUM] = _checksum(content)
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def describe_shared(folder: Path, info: RunInfo, url: URL) -> None:
    """Make a folder through which a run of a shared database can be read like any other run.

    Raises:
        UsageError: when the folder holds another run.
        MltuneError: when it cannot be written.
    """
    make_folder(folder)
    if (folder / INFO_NAME).exists():
        if read_info(folder).id != info.id:
            raise UsageError(f"{folder}: holds another run; give another --run")
        return
    shown = url.render_as_string(hide_password=True)
    write_info(replace(info, storage=shown), folder / INFO_NAME)


def read_info(folder: Path) -> RunInfo:
    """Read and check the `run.json` of a run folder.

    Raises:
        UsageError: when it is no run folder, or the file is wrong.
    """
    path = folder / INFO_NAME
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; a run is named by its folder")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such run folder")
    if not path.exists():
        raise UsageError(
            f"{folder}: is no run folder (it has no {INFO_NAME}, which `mltune search` writes)"
        )
    return _parse_info(path)


def _moved_with(folder: Path, prior: str) -> str:
    """Return where a prior is now: at its old path, or beside the run's folder."""
    beside = folder.absolute().parent / Path(prior).name
    return str(beside) if not Path(prior).exists() and beside.exists() else prior


def _parse_info(path: Path) -> RunInfo:
    with naming(path):
        data: Any = parse_json(read_bytes(path))
        # Checked last, as an error about a field is clearer.
        written = data.pop(_CHECKSUM, None) if isinstance(data, dict) else None
        info = RunInfo.from_json(data)
        if written is not None and written != _checksum(data):
            raise UsageError(
                f"its content does not give its {_CHECKSUM} {written!r:.40}: it is damaged "
                "(after a change by hand, delete that line)"
            )
        return info


def _checksum(content: dict[str, Any]) -> str:
    """Return eight hex digits over the content, whatever its white space."""
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def _open_store(url: URL, run: str, *, create: bool, known: Sequence[Measurement] = ()) -> Store:
    """Open a database for writing; wait for one that others may be writing to."""
    patience = PATIENCE_SECONDS if run else 0.0
    return Store(url, create=create, run=run, patience_seconds=patience, known=known)


def _refuse_own(url: URL) -> None:
    """Refuse to share the database of a run's folder: all its rows are taken for that run's."""
    file = sqlite_file(url)
    if file is None or file.name != DATABASE_NAME or not (file.parent / INFO_NAME).exists():
        return
    if not read_info(file.parent).storage:
        whose = f"belongs to the run {file.parent} alone"
        raise UsageError(f"--storage: {describe(url)} {whose}; give another database")


def _make_database(folder: Path) -> None:
    """Make the database of a run that has a table instead, as a whole or not at all."""
    table = folder / TABLE_NAME
    if not table.exists():
        raise UsageError(f"{folder}: has no {DATABASE_NAME}, so it cannot be resumed")
    part = folder / f"{DATABASE_NAME}.part"
    try:
        part.unlink(missing_ok=True)
        with Store(file_url(part)) as store:
            store.add_all(read_table(table))
        for kind in ("wal", "shm"):  # of a database that was removed: SQLite would read them
            (folder / f"{DATABASE_NAME}-{kind}").unlink(missing_ok=True)
        part.replace(folder / DATABASE_NAME)
    except OSError as error:
        raise file_error(part, "write", error) from error


def _storage_url(folder: Path, info: RunInfo, storage: str) -> URL:
    if not info.storage:
        if storage:
            raise UsageError(f"{folder}: keeps its measurements in {DATABASE_NAME}, not elsewhere")
        return file_url(folder / DATABASE_NAME)
    recorded = read_url(info.storage)
    if not storage:
        return recorded
    url = read_url(storage)
    if passwordless(url) != recorded:
        raise UsageError(f"{folder}: keeps its measurements in {info.storage}, got {url!r}")
    return url
