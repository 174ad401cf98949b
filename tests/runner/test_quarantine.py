from collections.abc import Callable

from mltune.kernel import Kernel
from mltune.record import Status
from mltune.runner.messages import Outcome
from mltune.runner.quarantine import Quarantine


def test_one_death_is_bad_luck_and_two_are_the_kernels_doing(
    naive_kernel: Callable[..., Kernel],
) -> None:
    quarantine = Quarantine()
    crash = Outcome(status=Status.CRASHED, message="the worker was killed by SIGSEGV")
    kernel, other = naive_kernel(), naive_kernel(group=(4, 4))

    quarantine.note_death(kernel, crash)
    assert quarantine.verdict(kernel) is None
    quarantine.note_death(kernel, crash)
    verdict = quarantine.verdict(kernel)

    assert verdict is not None
    assert verdict.status is Status.CRASHED
    assert verdict.message == "twice: the worker was killed by SIGSEGV"
    assert quarantine.verdict(other) is None
