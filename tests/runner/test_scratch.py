from dataclasses import replace

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.kernel.families import FAMILIES
from mltune.measurement import Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.runner.data import GUARD_BYTES
from mltune.runner.scratch import Scratch
from mltune.space.config import Config

SPLIT: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 1, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


def test_nothing_is_made_for_a_kernel_that_needs_none(device: Device) -> None:
    scratch = Scratch(device)

    assert scratch.of(0) is None
    assert scratch.guards_untouched()


def test_it_is_not_a_number_until_it_is_written_and_after_it_is_spoilt(
    device: Device,
) -> None:
    scratch, found = Scratch(device), np.empty(25, np.float32)
    inside = scratch.of(found.nbytes)
    device.read(inside, found)
    assert np.isnan(found).all()

    device.write(inside, np.zeros_like(found))
    scratch.spoil()
    device.read(inside, found)

    assert np.isnan(found).all()


def test_the_same_memory_serves_until_another_size_is_asked_for(device: Device) -> None:
    scratch = Scratch(device)
    first = scratch.of(100)

    assert scratch.of(0) is None
    assert scratch.of(100) is first
    assert scratch.of(96) is not first


@pytest.mark.parametrize("place", [0, GUARD_BYTES - 1, GUARD_BYTES + 101, 2 * GUARD_BYTES + 100])
def test_a_write_around_it_is_seen(device: Device, place: int) -> None:
    scratch = Scratch(device)
    scratch.of(101)
    assert scratch.guards_untouched()
    assert scratch.untouched()
    whole = np.full(GUARD_BYTES + 104 + GUARD_BYTES, 0xFF, np.uint8)
    assert scratch._buffer.size == whole.nbytes
    whole[place] = 0

    device.write(scratch._buffer, whole)

    assert not scratch.guards_untouched()
    assert not scratch.untouched()


def test_a_write_inside_is_none_around(device: Device) -> None:
    scratch = Scratch(device)
    device.write(scratch.of(101), np.zeros(101, np.uint8))

    assert scratch.guards_untouched()


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        (
            "WRITE_ONE(result, place);",
            "WRITE_ONE(result, place); if (i + j == 0) scratch[-1] = 1;",
            "memory around the scratch memory was written",
        ),
        ("for (uint n = 0; n < GSU", "for (uint n = 0; n <= GSU", "is nan, expected"),
    ],
)
def test_a_pass_that_leaves_its_scratch_memory_is_wrong(
    pocl_runner: WorkerRunner, right: str, wrong: str, words: str
) -> None:
    config = Config.of({**SPLIT, "global_split_u": 2})
    kernel = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), config)
    assert right in kernel.source

    found = pocl_runner.run_kernel(
        gemm_problem(kernel.contraction, 9, 9, 9),
        replace(kernel, source=kernel.source.replace(right, wrong)),
    )

    assert found.status is Status.WRONG_RESULT
    assert words in found.message


def test_counters_that_a_kernel_leaves_are_wrong(pocl_runner: WorkerRunner) -> None:
    algorithm: dict[str, int | str] = {
        "global_split_u": 2,
        "global_split_u_algorithm": "multiple_single_kernel",
    }
    kernel = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), Config.of({**SPLIT, **algorithm}))
    source = kernel.source.replace("atomic_xchg(counter, 0);", ";")
    assert source != kernel.source

    problem = gemm_problem(kernel.contraction, 9, 9, 9)
    right = pocl_runner.run_kernel(problem, kernel)
    wrong = pocl_runner.run_kernel(problem, replace(kernel, source=source))

    assert right.status is Status.OK
    assert wrong.status is Status.WRONG_RESULT
    assert "counters, or memory around them, are not 0 afterwards" in wrong.message
