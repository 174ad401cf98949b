import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import mltune
from mltune.errors import DeviceGoneError, NoDeviceError, UsageError
from mltune.kernel import Kernel, KernelFamily
from mltune.machine import python_module
from mltune.measurement import Status
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner import WorkerRunner
from mltune.runner.messages import Outcome
from mltune.runner.pool import BuilderPool
from mltune.runner.process import WorkerProcess
from mltune.space.config import Config
from tests.devices import CPU
from tests.patience import PATIENCE_SECONDS

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 30, 20, 64)
GOOD = Outcome(status=Status.OK, seconds=(0.001,))
MakeConfig = Callable[..., Config]


_IMPATIENCE = 2.0  # seconds; a healthy kernel never needs so long, even on a busy machine


def ended(pid: int, seconds: float = 30) -> bool:
    """Whether a process that is not our child ends within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def impatient(device_spec: str, naive_family: KernelFamily) -> Iterator[WorkerRunner]:
    with WorkerRunner(device_spec, naive_family, run_timeout_seconds=_IMPATIENCE) as runner:
        yield runner


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("syntax", Status.BUILD_ERROR, "undeclared identifier 'this'"),
        ("write_far", Status.CRASHED, "while launching it, was killed by SIGSEGV"),
        ("write_before", Status.WRONG_RESULT, "memory outside of C's elements was written"),
        ("write_after", Status.WRONG_RESULT, "memory outside of C's elements was written"),
        ("write_input", Status.WRONG_RESULT, "A or B, or memory around them, was written"),
        ("one_wrong", Status.WRONG_RESULT, "1 of 27 elements are wrong: C[8, 2] is"),
        ("short_sum", Status.WRONG_RESULT, "on the probe"),
        ("wrong_if_even", Status.WRONG_RESULT, "600 of 600 elements are wrong"),
        ("reads_c", Status.WRONG_RESULT, "is nan"),
        ("local_memory", Status.LAUNCH_ERROR, "bytes of local memory are over the limit"),
    ],
)
def test_a_hostile_kernel_is_an_answer_and_the_next_one_is_healthy(
    pocl_runner: WorkerRunner, naive_config: MakeConfig, fault: str, status: Status, words: str
) -> None:
    measurement = pocl_runner.run(PROBLEM, naive_config(fault))

    assert measurement.status is status
    assert words in measurement.message
    assert "\n" not in measurement.message
    assert measurement.seconds == ()
    assert pocl_runner.run(PROBLEM, naive_config()).status is Status.OK


def test_an_endless_kernel_is_stopped_in_time(
    impatient: WorkerRunner, naive_config: MakeConfig
) -> None:
    pid = impatient.worker_pid

    measurement = impatient.run(PROBLEM, naive_config("endless"))

    assert measurement.status is Status.TIMEOUT
    assert measurement.message == "stopped while running, after 2 s"
    assert pid is not None
    assert ended(pid)
    assert impatient.run(PROBLEM, naive_config()).status is Status.OK


def test_a_kernel_too_slow_for_its_samples_does_not_cost_the_worker(
    impatient: WorkerRunner, pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    small = pocl_runner.run(gemm_problem(gemm(Precision.SINGLE), 200, 200, 200), naive_config())
    # One launch should take under half of the limit, so that one fits and seven do not.
    order = round(200 * (0.4 * _IMPATIENCE / statistics.median(small.seconds)) ** (1 / 3))
    pid = impatient.worker_pid

    measurement = impatient.run(
        gemm_problem(gemm(Precision.SINGLE), order, order, order), naive_config()
    )

    assert measurement.status is Status.TIMEOUT
    assert "do not fit" in measurement.message or "stopped" in measurement.message
    if "do not fit" in measurement.message:
        assert impatient.worker_pid == pid


def test_a_build_over_its_limit_is_stopped(device_spec: str, naive_family: KernelFamily) -> None:
    unroll = "float x = alpha;\n" + "x = sin(x) + cos(x * 3);\n" * 3000 + "c[0] = x;"
    with WorkerRunner(device_spec, naive_family, build_timeout_seconds=0.3) as runner:
        kernel = naive_family.generate(
            gemm(Precision.SINGLE),
            Config.of({"work_group_0": 8, "work_group_1": 4, "fault": "none"}),
        )
        # The clock makes the source new, so no cache of the driver contains it.
        source = kernel.source.replace("{", f"{{ /* {time.time_ns()} */ {unroll}", 1)
        measurement = runner.run_kernel(PROBLEM, replace(kernel, source=source))

    assert measurement.status is Status.TIMEOUT
    assert measurement.message == "stopped while building, after 0.3 s of processor time"


def test_a_kernel_that_prints_does_not_disturb_the_answers(
    pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    assert pocl_runner.run(PROBLEM, naive_config("print")).status is Status.OK
    assert pocl_runner.run(PROBLEM, naive_config()).status is Status.OK


def test_a_work_group_over_the_limit_is_a_launch_error(
    pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    measurement = pocl_runner.run(PROBLEM, naive_config(group=(128, 64)))

    assert measurement.status is Status.LAUNCH_ERROR
    assert "8192 work-items is over the limit of 4096" in measurement.message


def test_a_problem_larger_than_the_device_is_a_launch_error(
    pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    huge = gemm_problem(gemm(Precision.SINGLE), 1 << 21, 1, 1 << 21)

    measurement = pocl_runner.run(huge, naive_config())

    assert measurement.status is Status.LAUNCH_ERROR
    assert "bytes is over the device's limit" in measurement.message


@pytest.mark.parametrize("name", ["d tt row", "s nt batched", "d nn column", "s tn row"])
@pytest.mark.parametrize("beta", [0.0, 1.0, -2.5])
def test_types_layouts_and_scalars_are_right(
    pocl_runner: WorkerRunner, naive_config: MakeConfig, name: str, beta: float
) -> None:
    letter, trans, kind = name.split()
    batched = kind == "batched"
    contraction = gemm(
        Precision(letter), trans[0], trans[1], "row" if kind == "row" else "column", batched
    )
    problem = gemm_problem(
        contraction, 13, 7, 9, 3 if batched else 1,
        lda=17, ldb=19, ldc=21, offset_a=1, offset_b=2, offset_c=3, alpha=0.7, beta=beta,
    )  # fmt: skip

    measurement = pocl_runner.run(problem, naive_config())

    assert measurement.status is Status.OK, measurement.message
    assert measurement.problem == problem


def test_sizes_share_one_build(pocl_runner: WorkerRunner, naive_config: MakeConfig) -> None:
    config = naive_config(group=(16, 2))
    first = pocl_runner.run(PROBLEM, config)
    second = pocl_runner.run(gemm_problem(gemm(Precision.SINGLE), 31, 20, 64), config)

    assert second.compile_cached
    assert first.compile_seconds is not None
    assert second.compile_seconds is not None


def test_a_problem_of_another_type_than_the_kernel_is_invalid(
    pocl_runner: WorkerRunner, naive_kernel: Callable[..., Kernel]
) -> None:
    measurement = pocl_runner.run_kernel(
        gemm_problem(gemm(Precision.DOUBLE), 4, 4, 4), naive_kernel()
    )

    assert measurement.status is Status.INVALID
    assert "computes Cij_Aik_Bkj_SB" in measurement.message


def test_a_stride_that_the_kernel_cannot_walk_is_invalid(
    pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    problem = Problem(contraction=gemm(Precision.SINGLE), sizes=(4, 4, 4), strides_a=(2, 9))

    assert pocl_runner.run(problem, naive_config()).status is Status.INVALID


def test_a_worker_that_died_while_idle_is_nobodys_fault(
    pocl_runner: WorkerRunner, naive_config: MakeConfig
) -> None:
    pocl_runner.run(PROBLEM, naive_config())
    pid = pocl_runner.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ended(pid)

    assert pocl_runner.run(PROBLEM, naive_config()).status is Status.OK
    assert pocl_runner.worker_pid != pid


def test_a_worker_that_cannot_start_any_more_is_a_device_that_is_gone(
    device_spec: str,
    naive_family: KernelFamily,
    naive_config: MakeConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mltune.runner.live._REOPEN_PAUSES", (0.0, 0.0))
    with WorkerRunner(device_spec, naive_family) as runner:
        runner._drop_worker()
        runner._command = ("/no/such/program",)

        with pytest.raises(DeviceGoneError, match="the device is gone: cannot start /no/such/pro"):
            runner.run(PROBLEM, naive_config())


def test_a_size_that_cannot_be_prepared_is_no_fault_on_other_sizes(
    naive_family: KernelFamily, naive_config: MakeConfig
) -> None:
    code = (
        "import json, sys\n"
        f"print(json.dumps({{'device': {CPU.to_json()!r}, 'number': '0:0'}}), flush=True)\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'stage': 'preparing'}), flush=True)\n"
        "    if json.loads(line)['problem']['sizes'][0] > 100:\n"
        "        sys.exit(3)\n"
        f"    print(json.dumps({{'answer': {GOOD.to_json()!r}}}), flush=True)\n"
    )
    large = gemm_problem(gemm(Precision.SINGLE), 101, 20, 64)
    with WorkerRunner("any", naive_family, worker=(sys.executable, "-c", code)) as runner:
        failed = runner.run(large, naive_config())

        assert failed.status is Status.CRASHED
        assert "twice: the worker, while preparing, ended with exit status 3" in failed.message
        assert runner.run(PROBLEM, naive_config()).status is Status.OK
        assert runner.run(large, naive_config()).message == failed.message


def test_what_is_prepared_is_measured_as_if_it_was_not(
    device_spec: str, naive_family: KernelFamily, naive_config: MakeConfig
) -> None:
    huge = gemm_problem(gemm(Precision.SINGLE), 1 << 20, 1 << 20, 4)
    with WorkerRunner(device_spec, naive_family, builders=1) as runner:
        runner.prepare(huge, naive_config())
        too_large = runner.run(huge, naive_config())
        runner.prepare(PROBLEM, naive_config("syntax"))
        refused = runner.run(PROBLEM, naive_config("syntax"))
        runner.prepare(PROBLEM, naive_config())
        pid = runner.worker_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert ended(pid)
        healthy = runner.run(PROBLEM, naive_config())

    assert too_large.status is Status.LAUNCH_ERROR
    assert "bytes is over the device's limit" in too_large.message
    assert refused.status is Status.BUILD_ERROR
    assert healthy.status is Status.OK


def test_an_interrupt_ends_the_worker_and_is_passed_on(
    device_spec: str, naive_family: KernelFamily, naive_config: MakeConfig
) -> None:
    with WorkerRunner(device_spec, naive_family) as runner:
        pid = runner.worker_pid
        assert pid is not None
        timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
        # A process that was started in the background may ignore SIGINT.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                runner.run(PROBLEM, naive_config("endless"))
            timer.join()
        finally:
            signal.signal(signal.SIGINT, before)

        assert ended(pid)
        assert runner.run(PROBLEM, naive_config()).status is Status.OK


def test_closing_ends_the_worker_and_may_be_repeated(
    device_spec: str, naive_family: KernelFamily
) -> None:
    runner = WorkerRunner(device_spec, naive_family)
    pid = runner.worker_pid
    runner.close()
    runner.close()

    assert pid is not None
    assert ended(pid)
    assert runner.worker_pid is None


def test_a_worker_that_starts_while_its_runner_is_closed_ends(
    device_spec: str,
    naive_family: KernelFamily,
    naive_config: MakeConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = WorkerRunner(device_spec, naive_family)
    assert runner.worker_pid is not None
    os.kill(runner.worker_pid, signal.SIGKILL)
    start, started = WorkerProcess.__init__, []

    def start_and_close(worker: WorkerProcess, command: Sequence[str]) -> None:
        start(worker, command)
        started.append(worker.pid)
        runner.close()

    monkeypatch.setattr(WorkerProcess, "__init__", start_and_close)
    with pytest.raises(DeviceGoneError, match="was released meanwhile"):
        runner.run(PROBLEM, naive_config())

    assert runner.worker_pid is None
    assert list(map(ended, started)) == [True]


def test_a_measurement_that_waits_for_its_build_ends_with_the_runner(
    device_spec: str,
    naive_family: KernelFamily,
    naive_config: MakeConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = WorkerRunner(device_spec, naive_family, builders=1)

    def take(pool: BuilderPool, kernel: Kernel) -> Outcome:
        runner.close()
        return Outcome(status=Status.CRASHED, message="closing")

    monkeypatch.setattr(BuilderPool, "take", take)
    with pytest.raises(DeviceGoneError, match="was released meanwhile"):
        runner.run(PROBLEM, naive_config())


def test_the_worker_ends_with_a_parent_that_was_killed(device_spec: str) -> None:
    script = (
        "import sys, time\n"
        "from mltune.runner.process import WorkerProcess\n"
        "from mltune.machine import python_module\n"
        f"worker = WorkerProcess(python_module('mltune.runner.worker', {device_spec!r}))\n"
        "worker.receive(60)\n"
        "print(worker.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()

    assert ended(worker)


def test_a_workers_own_thread_may_end_it() -> None:
    worker = WorkerProcess((sys.executable, "-c", "print(input())"))
    heard: list[bytes] = []

    def collect(line: bytes) -> None:  # as Python may a lost objective, in any thread
        worker.kill()
        heard.append(line)

    worker._lines = SimpleNamespace(put=collect)  # type: ignore[assignment]
    worker.send({})
    worker._readers[0].join(PATIENCE_SECONDS)

    assert heard == [b"{}\n", b""]


def test_a_users_file_is_not_taken_for_a_module_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "this.py").write_text("print('the user's')")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(python_module("this"), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("The Zen of Python")

    monkeypatch.chdir(Path(mltune.__file__).parents[1])  # where mltune may be found only here
    assert python_module("this") == (sys.executable, "-m", "this")


def test_the_measuring_process_keeps_the_driver_away_from_its_parent() -> None:
    script = "import sys, mltune.runner; sys.exit('pyopencl' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.device
def test_an_unknown_device_is_told_as_such(naive_family: KernelFamily) -> None:
    with pytest.raises(NoDeviceError, match=r"no device 'abacus' .known: ") as refused:
        WorkerRunner("abacus", naive_family)

    assert str(refused.value).endswith(f"(known: {', '.join(refused.value.known)})")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "samples must be at least 1, got 0"),
        ({"build_timeout_seconds": 0}, "build timeout must be positive seconds, got 0"),
        ({"run_timeout_seconds": float("inf")}, "run timeout must be positive seconds, got inf"),
    ],
)
def test_numbers_out_of_range_are_refused_before_anything_starts(
    naive_family: KernelFamily, wrong: dict[str, float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        WorkerRunner("cpu", naive_family, **wrong)  # type: ignore[arg-type]  # a wrong number
