"""Fixtures for all tests: the PoCL device with a warm cache, and a plain kernel to measure."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from alembic.util import pyfiles
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool
from threadpoolctl import threadpool_limits

from mltune.cli.main import _COLLECTED
from mltune.device import choose
from mltune.device.opencl.linker import has_linker
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError
from mltune.kernel import Kernel
from mltune.problem import Contraction, gemm
from mltune.problem.precision import Precision
from mltune.run import database
from mltune.runner import WorkerRunner
from mltune.space.config import Config
from mltune.tuning import final_rounds
from tests import postgres
from tests.devices import CPU
from tests.plain_mma import NOT_OPTIMISED

pytest_plugins = ("tests.guard",)

# Bytecode is kept even if a machine's setting says otherwise: without it, each worker rewrites all
# assertions again, and each process that a test starts compiles all of mltune.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Objects made by collection live until the end, so Python need not look for garbage among them.
gc.disable()

# PoCL reads the variable once, so it is set before anything loads the driver. The folder is kept
# between runs, which makes later runs faster.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mltune-tests" / "pocl"
_CACHE.mkdir(parents=True, exist_ok=True)
os.environ["POCL_CACHE_DIR"] = str(_CACHE)
# The results of trying out a device are kept there, too.
os.environ["MLTUNE_DEVICES_DIR"] = str(_CACHE.with_name("devices"))
# PoCL calls a linker, also in tests that use PoCL directly: ziglang's if there is no ld.
has_linker()
# What one test computed must not affect another test, nor the user's own cache.
os.environ["MLTUNE_CACHE_DIR"] = ""
# Tests run in parallel, one worker for each core, so threads of NumPy and scikit-learn would only
# wait.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
threadpool_limits(limits=1)  # for libraries that are loaded already
# Warnings are errors here, and pyopencl warns about every kernel that has a build log.
os.environ["PYOPENCL_COMPILER_OUTPUT"] = "0"

# A run that was started in the background ignores Ctrl-C, and so would all processes that it
# starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests need no protection from power cuts; with it, SQLite would wait for the disk several times a
# commit.
database._SYNCHRONOUS = "OFF"

# Tests disturb each other's measurements, so repeating the disturbed ones would only take time.
final_rounds._MOST_ROUNDS = final_rounds.ROUNDS

# For each new database Optuna's storage loads the migration scripts of all its versions three
# times.
pyfiles.load_module_py = cache(pyfiles.load_module_py)  # type: ignore[assignment]

# A machine with much other work is slow, not wrong.
settings.register_profile(
    "any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50
)
settings.load_profile("any speed")


def pytest_collection_finish() -> None:
    """Let Python look for garbage only among objects that tests make, as seldom as the command."""
    gc.freeze()
    gc.set_threshold(*_COLLECTED)
    gc.enable()


_TYPES = {Precision.SINGLE: "float", Precision.DOUBLE: "double"}

_SOURCE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void {name}(
    __global {type} *c, __global const {type} *a, __global const {type} *b,
    {type} alpha, {type} beta, uint size_i, uint size_j, uint size_l,
    ulong offset_c, ulong ld_c, ulong batch_stride_c,
    ulong offset_a, ulong ld_a, ulong batch_stride_a,
    ulong offset_b, ulong ld_b, ulong batch_stride_b)
{{
    const ulong i = get_global_id(0), j = get_global_id(1), z = get_global_id(2);
    {before}
    if (i >= size_i || j >= size_j) return;
    {type} sum = 0;
    for (ulong l = 0; l < size_l; ++l)
        sum += a[offset_a + z * batch_stride_a + {a}] * b[offset_b + z * batch_stride_b + {b}];
    {after}
    __global {type} *out = c + offset_c + z * batch_stride_c + j * ld_c + i;
    *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
}}
"""

# Lines of a kernel that go before and after its sum.
_FAULTS: dict[str, tuple[str, str]] = {
    "none": ("", ""),
    "syntax": ("this is no C;", ""),
    "endless": ("while (1) { c[0] = beta; }", ""),
    "write_far": ("c[1000000000000ul + i] = 0;", ""),
    "write_before": ("if (i == 0 && j == 0) c[-7] = 1;", ""),
    "write_after": ("", "c[offset_c + ld_c * size_j + 5] = 1;"),
    "write_input": ("if (i == 0 && j == 0) ((__global int *)a)[0] = 1;", ""),
    "one_wrong": ("", "if (i == size_i - 1 && j == size_j - 1) sum += 1;"),
    "short_sum": ("if (size_l > 1) --size_l;", ""),
    "wrong_if_even": ("", "if (size_i % 2 == 0) sum = 0;"),
    "print": ('if (i == 0 && j == 0) printf("{\\"answer\\": 0}\\n");', ""),
    "reads_c": ("", "sum += 0 * c[offset_c + j * ld_c + i];"),
    "local_memory": ("__local float big[4000000]; big[i] = i; c[0] = big[i / 2];", ""),
}


class NaiveFamily:
    """One work-item per element of C; a config names the work-group and one of `_FAULTS`."""

    name = "naive"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel, with the lines of its fault."""
        canonical = contraction.canonical()
        summed = canonical.summation_indices[0]
        by_sum_a = canonical.index_assignments_a[0] == summed
        by_sum_b = canonical.index_assignments_b[0] == summed
        group = (config.int("work_group_0"), config.int("work_group_1"), 1)
        fault = config.word("fault")
        before, after = _FAULTS[fault]
        name = f"naive_{canonical.name}_{fault}_{group[0]}x{group[1]}"
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=_SOURCE.format(
                name=name,
                type=_TYPES[canonical.precision],
                before=before,
                after=after,
                a="i * ld_a + l" if by_sum_a else "l * ld_a + i",
                b="j * ld_b + l" if by_sum_b else "l * ld_b + j",
            ),
            build_options=(),
            work_group=group,
            macro_tile=group[:2],
        )


@pytest.fixture(scope="session")
def device_spec() -> str:
    """The device of all tests: PoCL, at any place in the driver's list."""
    return "Portable Computing Language"


@pytest.fixture(scope="session")
def queue(device_spec: str) -> Any:
    """A queue on the tests' device."""
    import pyopencl as cl

    from mltune.device.opencl.listing import driver_device

    try:
        return cl.CommandQueue(cl.Context([driver_device(choose(device_spec))]))
    except NoDeviceError as error:
        pytest.skip(str(error))


@pytest.fixture
def host_arrays_here(monkeypatch: pytest.MonkeyPatch, device_spec: str) -> None:
    """Let products of numpy arrays run on the tests' device, even if there are others."""
    monkeypatch.setattr("mltune.runtime.tuned_gemm.choose", lambda _: choose(device_spec))


@pytest.fixture(scope="module")
def not_optimised() -> Iterator[None]:
    """Let PoCL not optimise: for kernels that run for microseconds it would take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POCL_EXTRA_BUILD_FLAGS", NOT_OPTIMISED)
        yield


@pytest.fixture(scope="session")
def naive_family() -> NaiveFamily:
    """A family of plain kernels, right and faulty ones."""
    return NaiveFamily()


@pytest.fixture(scope="session")
def naive_config() -> Callable[..., Config]:
    """Make a config of the naive family."""

    def make(fault: str = "none", group: tuple[int, int] = (8, 4)) -> Config:
        return Config.of({"work_group_0": group[0], "work_group_1": group[1], "fault": fault})

    return make


@pytest.fixture(scope="session")
def naive_kernel(
    naive_family: NaiveFamily, naive_config: Callable[..., Config]
) -> Callable[..., Kernel]:
    """Make a kernel of the naive family, `sgemm_nn` by default."""

    def make(
        fault: str = "none",
        contraction: Contraction | None = None,
        group: tuple[int, int] = (8, 4),
    ) -> Kernel:
        of = contraction or gemm(Precision.SINGLE)
        return naive_family.generate(of, naive_config(fault, group))

    return make


@pytest.fixture(scope="session")
def pocl_runner(device_spec: str, naive_family: NaiveFamily) -> Iterator[WorkerRunner]:
    """A live runner of naive kernels, with limits for busy machines, shared by all tests."""
    with WorkerRunner(
        device_spec, naive_family, build_timeout_seconds=60, run_timeout_seconds=30
    ) as runner:
        yield runner


@pytest.fixture(scope="session")
def device_info() -> DeviceInfo:
    """PoCL's description as data, without opening the device."""
    return CPU


@pytest.fixture(scope="session")
def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs; if there are none, a test is skipped or fails."""
    found = postgres.programs()
    if found is None:
        if os.environ.get("MLTUNE_REQUIRE_POSTGRES"):
            pytest.fail("MLTUNE_REQUIRE_POSTGRES is set and there is no PostgreSQL")
        pytest.skip("there is no PostgreSQL (Debian: postgresql)")
    return found


@pytest.fixture(scope="session")
def postgres_server(postgres_programs: Path) -> Iterator[postgres.Server]:
    """A running server that the session's tests share."""
    with postgres.server(postgres_programs) as running:
        yield running


@pytest.fixture
def postgres_url(postgres_server: postgres.Server) -> str:
    """The URL of an empty database of the server."""
    engine = create_engine(postgres_server.url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
    return postgres_server.url.render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: of a file, then of a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/measurements.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def read_only() -> Callable[[Path], AbstractContextManager[None]]:
    """Makes a folder read-only, also for tests that root runs."""

    @contextmanager
    def read_only(folder: Path) -> Iterator[None]:
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)
            folder.chmod(0o755)

    return read_only


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can read, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def closed_storages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the databases that Optuna's storages leave open: Python 3.13 warns of them."""
    from optuna.storages import RDBStorage

    opened: list[RDBStorage] = []
    init = RDBStorage.__init__

    def remembered(self: RDBStorage, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        opened.append(self)

    monkeypatch.setattr(RDBStorage, "__init__", remembered)
    yield
    for storage in opened:
        storage.engine.dispose()
