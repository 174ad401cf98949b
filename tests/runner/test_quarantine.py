from collections.abc import Callable

from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.runner.messages import Outcome
from mltune.runner.quarantine import Quarantine


def test_a_kill_from_outside_counts_for_less(naive_kernel: Callable[..., Kernel]) -> None:
    quarantine = Quarantine()
    killed = Outcome(status=Status.CRASHED, message="was killed by SIGKILL", outsider=True)
    for _ in range(4):
        quarantine.note_death(naive_kernel(), killed)
        assert quarantine.verdict(naive_kernel()) is None

    quarantine.note_death(naive_kernel(), killed)
    verdict = quarantine.verdict(naive_kernel())

    assert verdict is not None
    assert verdict.message == "5 times: was killed by SIGKILL"


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
