"""Requirements for every library in a comparison; missing ones are skipped by name."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import Mock

import numpy as np
import pyopencl as cl
import pytest

from mltune.bench import PEERS, Contestant
from mltune.bench.contestant import CannotComputeError, NotPresentError
from mltune.bench.opencl_queues import Queues
from mltune.bench.task import Task
from mltune.bench.tuned import Tuned
from mltune.device import DeviceEntry, choose
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, gemm_problem, parse_problem_type
from mltune.runtime import TunedGemm
from mltune.selector import Leaf, Selector
from mltune.space.config import Config
from tests.selectors import entry_of

pytestmark = pytest.mark.usefixtures("not_optimised")  # CLBlast has long kernels

TYPES = (
    "sgemm_nn", "sgemm_nt", "sgemm_tn_row", "dgemm_tt", "sgemm_tn_batched", "dgemm_nt_row_batched",
)  # fmt: skip
CONFIG = Config.of({
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 1, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
    "global_split_u": 2,  # makes two passes
})  # fmt: skip


def tuned(contraction: Contraction, queues: Queues) -> Tuned:
    kernel = FAMILIES["tiled"].generate(contraction, CONFIG)
    entry = entry_of(kernel)
    selector = Selector(contraction=contraction, portfolio=(entry,), tree=Leaf(0))
    return Tuned(TunedGemm(selector, [kernel]), queues)


@pytest.fixture(scope="module")
def entry(device_spec: str) -> DeviceEntry:
    return choose(device_spec)


@pytest.fixture(scope="module")
def queues(entry: DeviceEntry) -> Queues:
    return Queues.open(entry)


@pytest.fixture(params=["mltune", *PEERS])
def contestant(
    request: pytest.FixtureRequest, problem_type: str, entry: DeviceEntry, queues: Queues
) -> Iterator[Contestant]:
    if request.param == "mltune":
        opened: Contestant = tuned(parse_problem_type(problem_type), queues)
    else:
        try:
            opened = PEERS[request.param](entry.info, queues)
        except NotPresentError as error:
            pytest.skip(f"{request.param}: {error}")
    yield opened
    opened.close()


@pytest.mark.parametrize("problem_type", TYPES)
def test_it_computes_what_it_is_timed_on(contestant: Contestant, problem_type: str) -> None:
    batch = 3 if "batched" in problem_type else 1
    problem = gemm_problem(parse_problem_type(problem_type), 33, 20, 17, batch)
    task = Task.draw(problem, seed=5)

    product = contestant.prepare(task)
    try:
        assert task.relative_error(product.compute()) < 20 * np.finfo(task.dtype).eps
        assert product.call_seconds(3) > 0
        kernel_seconds = product.kernel_seconds(3)
        assert kernel_seconds is None or kernel_seconds > 0
        assert task.relative_error(product.compute()) < 20 * np.finfo(task.dtype).eps
    finally:
        product.close()
    assert contestant.name in contestant.describe(problem.contraction).lower()


@pytest.mark.parametrize("problem_type", ["cgemm_cn", "zgemm_nc_row"])
@pytest.mark.parametrize("name", sorted(PEERS))
def test_complex_matrices_are_conjugated(
    name: str, problem_type: str, entry: DeviceEntry, queues: Queues
) -> None:
    task = Task.draw(gemm_problem(parse_problem_type(problem_type), 9, 14, 11), seed=6)
    try:
        peer = PEERS[name](entry.info, queues)
    except NotPresentError as error:
        pytest.skip(f"{name}: {error}")
    product = peer.prepare(task)

    assert task.relative_error(product.compute()) < 20 * np.finfo(task.dtype).eps

    product.close()
    peer.close()


@pytest.mark.parametrize("problem_type", TYPES[:1])
def test_a_device_without_room_for_the_numbers_is_named(
    contestant: Contestant, problem_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if contestant.name not in ("mltune", "clblast"):
        pytest.skip(f"{contestant.name} has no OpenCL buffers")
    task = Task.draw(gemm_problem(parse_problem_type(problem_type), 4, 4, 4), seed=1)
    monkeypatch.setattr(cl, "Buffer", Mock(side_effect=cl.MemoryError("no memory")))

    with pytest.raises(CannotComputeError, match=f"(?i){contestant.name}: .*no memory"):
        contestant.prepare(task)


@pytest.mark.parametrize("problem_type", TYPES[:1])
@pytest.mark.parametrize(
    "profile", [Mock(side_effect=cl.RuntimeError("no times")), Mock(return_value=Mock(end=0))]
)
def test_a_driver_without_times_of_launches_is_timed_by_sequences(
    contestant: Contestant, problem_type: str, profile: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task.draw(gemm_problem(parse_problem_type(problem_type), 33, 20, 17), seed=5)
    monkeypatch.setattr(cl.Event, "profile", property(profile))
    product = contestant.prepare(task)

    seconds = product.kernel_seconds(3)

    assert seconds is None or seconds > 0
    product.close()


def test_numpy_has_no_half() -> None:
    task = Task.draw(gemm_problem(parse_problem_type("hgemm_nn"), 4, 4, 4), seed=1)

    with pytest.raises(CannotComputeError, match="half"):
        PEERS["numpy"](None, None).prepare(task)  # type: ignore[arg-type]
