from collections.abc import Callable

from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.messages import Outcome
from mltune.runner.quarantine import Quarantine

PROBLEM, LARGER = (gemm_problem(gemm(Precision.SINGLE), m, 8, 8) for m in (8, 64))


def test_a_kill_from_outside_counts_for_less(naive_kernel: Callable[..., Kernel]) -> None:
    quarantine = Quarantine()
    killed = Outcome(status=Status.CRASHED, message="was killed by SIGKILL", outsider=True)
    for _ in range(4):
        quarantine.note_death(naive_kernel(), PROBLEM, killed)
        assert quarantine.verdict(naive_kernel(), PROBLEM) is None

    quarantine.note_death(naive_kernel(), PROBLEM, killed)
    verdict = quarantine.verdict(naive_kernel(), PROBLEM)

    assert verdict is not None
    assert verdict.message == "5 times: was killed by SIGKILL"


def test_one_death_is_bad_luck_and_two_are_the_kernels_doing(
    naive_kernel: Callable[..., Kernel],
) -> None:
    quarantine = Quarantine()
    crash = Outcome(status=Status.CRASHED, message="the worker was killed by SIGSEGV")
    kernel, other = naive_kernel(), naive_kernel(group=(4, 4))

    quarantine.note_death(kernel, PROBLEM, Outcome(status=Status.CRASHED, message="exit code 1"))
    assert quarantine.verdict(kernel, LARGER) is None
    quarantine.note_death(kernel, PROBLEM, crash)
    verdict = quarantine.verdict(kernel, LARGER)

    assert verdict is not None
    assert verdict.status is Status.CRASHED
    assert verdict.message == "twice: the worker was killed by SIGSEGV"
    assert quarantine.verdict(other, PROBLEM) is None


def test_a_problem_that_cannot_be_prepared_speaks_for_no_other(
    naive_kernel: Callable[..., Kernel],
) -> None:
    quarantine = Quarantine()
    crash = Outcome(status=Status.CRASHED, message="no memory", preparing=True)

    for _ in range(2):
        quarantine.note_death(naive_kernel(), LARGER, crash)

    assert quarantine.verdict(naive_kernel(), LARGER) is not None
    assert quarantine.verdict(naive_kernel(), PROBLEM) is None
