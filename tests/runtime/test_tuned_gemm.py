import logging
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import mltune
from mltune.errors import MltuneError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, gemm
from mltune.runtime import TunedGemm, built_kernels
from mltune.selector import Leaf, Reason, Selector, Split
from mltune.selector.json import write_selector
from mltune.space.config import Config
from tests.selectors import entry_of

SMALL: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 1, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
SPLIT = {**SMALL, "thread_tile_0": 4, "vector_width": 2, "global_split_u": 3}
COUNT = {**SPLIT, "global_split_u_algorithm": "multiple_single_kernel"}
REMAINDER = {**SMALL, "edge_type": "remainder"}
WALK = {**SMALL, "persistent_kernel": 1, "stream_k": 1}
CONFIGS = tuple(map(Config.of, (SMALL, SPLIT, REMAINDER, WALK, COUNT)))


def selector_for(contraction: Contraction) -> Selector:
    kernels = [FAMILIES["tiled"].generate(contraction, config) for config in CONFIGS]
    return Selector(
        contraction=contraction,
        portfolio=tuple(map(entry_of, kernels)),
        tree=Split("m", 16, Leaf(0), Leaf(1)),
        exact=(((8, 8, 8, 1), 1),),
    )


@pytest.fixture
def selector() -> Selector:
    return selector_for(gemm(Precision.SINGLE))


@pytest.fixture
def file(selector: Selector, tmp_path: Path) -> Path:
    write_selector(selector, tmp_path / "selector.json")
    return tmp_path / "selector.json"


def test_loads_a_file_or_its_folder_and_chooses_as_the_selector_does(
    selector: Selector, file: Path
) -> None:
    for path in (file, file.parent):
        tuned = mltune.load(path)
        assert tuned.selector == selector
        assert tuned.select(8, 8, 8) == selector.choose(8, 8, 8)
        assert tuned.select(8, 8, 8).reason is Reason.EXACT
        assert tuned.select(16, 0, 2**31 - 1).index == 0
        assert tuned.select(17, 1, 1).index == 1


@pytest.mark.parametrize(
    "size",
    [(-1, 5, 5), (1.5, 5, 5), (float("nan"), 1, 1), (2**31, 1, 1), (5, 5, 5, -1), ("a", 5, 5)],
)
def test_sizes_that_no_call_has_select_nothing(selector: Selector, size: Any) -> None:
    with pytest.raises(UsageError, match="sizes must be whole numbers from 0 to 2"):
        mltune.load(selector).select(*size)


@pytest.mark.parametrize(
    ("trans_a", "trans_b", "batch"),
    [("n", "n", None), ("t", "n", None), ("n", "t", 3), ("t", "t", 3)],
)
def test_computes_with_each_kernel(
    queue: cl.CommandQueue, trans_a: str, trans_b: str, batch: int | None
) -> None:
    rng = np.random.default_rng(1)
    contraction = gemm(Precision.DOUBLE, trans_a, trans_b, "row", batch is not None)
    tuned = _tuned(contraction)
    lead = () if batch is None else (batch,)
    a, b = rng.standard_normal((*lead, 19, 7)), rng.standard_normal((*lead, 7, 13))
    on_a, on_b = (_stored(queue, a, trans_a), _stored(queue, b, trans_b))
    for kernel in (None, *range(len(CONFIGS))):
        c, event = tuned.gemm(queue, on_a, on_b, kernel=kernel)
        event.wait()
        np.testing.assert_allclose(c.get(), a @ b)
    tuned.release()


def test_says_when_a_kernel_is_not_written_as_it_was_measured(
    selector: Selector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = replace(selector.portfolio[0], source_hash="0" * 16)
    changed = replace(selector, portfolio=(first, *selector.portfolio[1:]))
    write_selector(changed, tmp_path / "selector.json")

    with caplog.at_level(logging.WARNING):
        mltune.load(tmp_path)

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert first.name in caplog.text


def test_refuses_what_it_cannot_write_again(selector: Selector, tmp_path: Path) -> None:
    first, *others = selector.portfolio
    path = tmp_path / "selector.json"
    for wrong, message in (
        (replace(first, family="woven"), "unknown kernel family 'woven' \\(known: direct"),
        (replace(first, name="renamed"), "config of renamed gives kernel Cij"),
    ):
        write_selector(replace(selector, portfolio=(wrong, *others)), path)
        with pytest.raises(UsageError, match=f"selector.json: {message}"):
            mltune.load(path)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.json: cannot read"):
        mltune.load(tmp_path / "nothing.json")


def test_wrong_arguments_are_usage_errors(queue: cl.CommandQueue, selector: Selector) -> None:
    a = cl_array.zeros(queue, (3, 3), "float64")
    with pytest.raises(UsageError, match=r"^sgemm_nn: a must be float32, got float64$"):
        _tuned(gemm(Precision.SINGLE)).gemm(queue, a, a)


@pytest.mark.usefixtures("strict_launches")
def test_arrays_of_another_context_are_named(queue: cl.CommandQueue) -> None:
    a = cl_array.zeros(queue, (3, 3), "float32")
    other = cl.CommandQueue(cl.Context([queue.device]))
    b = cl_array.zeros(other, (3, 3), "float32")
    with pytest.raises(UsageError, match=r"b must be of the queue's context, got another one$"):
        _tuned(gemm(Precision.SINGLE))(a, b)


def test_other_processes_learn_into_the_same_file(selector: Selector, tmp_path: Path) -> None:
    learned = tmp_path / "learned.json"
    tuned = mltune.load(selector, learn=learned)

    sent = pickle.loads(pickle.dumps(tuned))

    assert (sent.name, sent.selector, sent.kernels) == (tuned.name, selector, tuned.kernels)
    learned.write_text("another program's")
    with pytest.raises(UsageError, match=r"learned\.json"):
        pickle.loads(pickle.dumps(tuned))


def test_learned_sizes_may_lie_at_a_path_of_another_type(selector: Selector, tmpdir: Any) -> None:
    tuned = mltune.load(selector, learn=tmpdir / "learned.json")
    tuned.save_learned()


def test_a_kernel_that_does_not_build_is_one_line(
    queue: cl.CommandQueue, selector: Selector
) -> None:
    kernels = [
        replace(FAMILIES["tiled"].generate(selector.contraction, config), source="not OpenCL")
        for config in CONFIGS
    ]
    a = cl_array.zeros(queue, (3, 3), "float32")
    with pytest.raises(MltuneError, match="TunedGemm sgemm_nn, 5 kernels> failed on") as caught:
        TunedGemm(selector, kernels).gemm(queue, a, a)
    assert "\n" not in str(caught.value)


def test_kernels_must_be_the_portfolio(selector: Selector) -> None:
    with pytest.raises(UsageError, match="expected the kernels"):
        TunedGemm(selector, [])


def _tuned(contraction: Contraction) -> TunedGemm:
    kernels = [FAMILIES["tiled"].generate(contraction, config) for config in CONFIGS]
    return TunedGemm(selector_for(contraction), kernels)


def _stored(queue: cl.CommandQueue, values: Any, trans: str) -> Any:
    """A C-ordered array, or the transposed view of one."""
    if trans == "n":
        return cl_array.to_device(queue, values)
    stored: Any = cl_array.to_device(queue, values.swapaxes(-1, -2).copy())
    return stored.transpose((*range(values.ndim - 2), values.ndim - 1, values.ndim - 2))


def _own_queue(queue: cl.CommandQueue, in_order: bool) -> cl.CommandQueue:
    """Another queue of the same context."""
    if in_order:
        return cl.CommandQueue(queue.context)
    unordered: Any = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    return cl.CommandQueue(queue.context, properties=unordered)


@pytest.mark.parametrize(("config", "passes"), [(SPLIT, 2), (WALK, 2), (COUNT, 1)])
@pytest.mark.parametrize("in_order", [True, False])
def test_passes_follow_one_another_and_calls_share_their_scratch_memory(
    queue: cl.CommandQueue, in_order: bool, config: dict[str, int | str], passes: int
) -> None:
    own = _own_queue(queue, in_order)
    tuned = _tuned(gemm(Precision.DOUBLE, order="row"))
    rng = np.random.default_rng(2)
    calls = []
    for extent in (5, 40, 9, 77, 33):  # the scratch memory must grow twice
        a, b = rng.standard_normal((extent, 29)), rng.standard_normal((29, extent))
        on_a, on_b = (cl_array.to_device(own, values) for values in (a, b))
        number = CONFIGS.index(Config.of(config))
        c, events = tuned.enqueue(own, on_a, on_b, kernel=number)
        calls.append((a @ b, c, events))

    for expected, c, events in calls:
        assert len(events) == passes
        np.testing.assert_allclose(c.get(), expected, atol=1e-12)
    tuned.release()


def test_no_argument_is_set_between_two_passes(
    queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    start = built_kernels._launched

    def start_noted(*arguments: Any) -> list[cl.Event]:
        steps.append("launch")
        return start(*arguments)

    def set_noted(kernel: cl.Kernel, *arguments: Any) -> None:
        steps.append("arguments")
        set_args(kernel, *arguments)

    set_args = cl.Kernel.set_args
    tuned = _tuned(gemm(Precision.DOUBLE, order="row"))
    a = cl_array.to_device(queue, np.ones((8, 8)))
    monkeypatch.setattr(built_kernels, "_launched", start_noted)
    monkeypatch.setattr(cl.Kernel, "set_args", set_noted)

    tuned.enqueue(queue, a, a, kernel=CONFIGS.index(Config.of(SPLIT)))

    assert steps == ["arguments", "arguments", "launch", "launch"]


@pytest.mark.parametrize("refused", [0, 1])
def test_calls_wait_for_the_passes_before_one_that_was_refused(
    queue: cl.CommandQueue, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = _own_queue(queue, in_order=False)
    tuned = _tuned(gemm(Precision.DOUBLE, order="row"))
    launcher = tuned.settle(own).launcher
    number = CONFIGS.index(Config.of(SPLIT))
    a, c = (cl_array.to_device(own, np.ones((8, 8))) for _ in "ac")
    _, before = launcher.enqueue(own, a, a, kernel=number)
    entries = [each.entry for each in tuned.kernels[number].passes]
    start, waits = built_kernels._launched, []

    def launch(kernel: cl.Kernel, *given: Any) -> list[cl.Event]:
        waits.append(given[-1])
        if kernel.function_name == entries[refused]:
            raise cl.MemoryError("refused")
        return start(kernel, *given)

    monkeypatch.setattr(built_kernels, "_launched", launch)
    for _ in range(2):
        with pytest.raises(cl.MemoryError) as caught:
            launcher.gemm(own, a, a, c, kernel=number)
    firsts = waits[:: refused + 1]

    assert built_kernels.has_begun(caught.value) == (refused == 1)
    assert before[-1] in firsts[0]
    if refused == 1:
        assert waits[1][0] in firsts[1]
        assert waits[3][0] in c.events


def test_scratch_memory_for_which_a_launch_failed_is_not_kept(
    queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers may find out late that there is too little; smaller calls would fail, too."""
    launcher = _tuned(gemm(Precision.DOUBLE, order="row")).settle(queue).launcher
    number = CONFIGS.index(Config.of(SPLIT))
    small, large = (cl_array.zeros(queue, (extent, extent), "float64") for extent in (8, 80))
    asked, make = [], cl.Buffer

    def buffer(context: cl.Context, flags: int, size: int) -> cl.Buffer:
        asked.append(size)
        return make(context, flags, size)

    def fail(*_: object) -> None:
        raise cl.MemoryError("refused")

    results = small.copy(), large.copy()
    launcher.enqueue(queue, small, small, results[0], kernel=number)
    monkeypatch.setattr("mltune.runtime.built_kernels.cl.Buffer", buffer)
    with monkeypatch.context() as patched:
        patched.setattr(built_kernels, "_launched", fail)
        with pytest.raises(cl.MemoryError):
            launcher.enqueue(queue, large, large, results[1], kernel=number)
    launcher.enqueue(queue, small, small, results[0], kernel=number)

    most, last = asked
    assert last < most


@pytest.mark.parametrize(("config", "passes"), [(SPLIT, 2), (COUNT, 1)])
@pytest.mark.parametrize("in_order", [True, False])
def test_unwatched_calls_have_no_events_where_the_queue_orders_them(
    queue: cl.CommandQueue, in_order: bool, config: dict[str, int | str], passes: int
) -> None:
    own = _own_queue(queue, in_order)
    tuned = _tuned(gemm(Precision.DOUBLE, order="row"))
    rng = np.random.default_rng(3)
    number = CONFIGS.index(Config.of(config))
    calls = []
    for extent in (5, 40, 9):
        a, b = rng.standard_normal((extent, 29)), rng.standard_normal((29, extent))
        on_a, on_b = (cl_array.to_device(own, values) for values in (a, b))
        begun = cl.UserEvent(own.context)
        c, events = tuned.enqueue(own, on_a, on_b, kernel=number, wait_for=[begun], watched=False)
        assert len(events) == (0 if in_order else passes)
        begun.set_status(cl.command_execution_status.COMPLETE)
        calls.append((a @ b, c))

    own.finish()
    for expected, c in calls:
        np.testing.assert_allclose(c.get(), expected, atol=1e-12)
    tuned.release()


def test_loading_finds_the_linker_that_pocl_calls(
    selector: Selector, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("mltune.runtime.tuned_gemm.has_linker", lambda: asked.append(True))

    pickled = pickle.dumps(mltune.load(selector))
    assert asked
    asked.clear()

    pickle.loads(pickled)  # in a process that began before the linker was found
    assert asked


@pytest.mark.device
def test_a_fork_is_told_to_use_spawn(file: Path) -> None:
    """Also if the first process only listed the devices; a driver would never answer there."""
    script = """
import multiprocessing, sys
import numpy as np
import mltune
from mltune.device import list_devices
from mltune.errors import UsageError
from mltune.runtime import loading

one, several = mltune.load(sys.argv[1]), mltune.load(sys.argv[1:])
packs = mltune.load("pthread-amd-epyc")
list_devices()
a = np.ones((4, 4), "float32")

def use_all():
    loading.list_devices = lambda: print("a driver is asked", flush=True)
    for gemm in (one, several, packs, mltune.load(sys.argv[1])):
        try:
            gemm(a, a)
        except UsageError as error:
            print(error, flush=True)

process = multiprocessing.get_context("fork").Process(target=use_all)
process.start()
process.join(30)
process.kill()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stderr
    assert all("start processes with 'spawn'" in line for line in lines)


def test_a_queue_of_the_process_before_the_fork_is_refused(
    queue: cl.CommandQueue, selector: Selector, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = cl_array.zeros(queue, (3, 3), "float32")
    tuned = _tuned(gemm(Precision.SINGLE))
    tuned(a, a).get()
    monkeypatch.setattr("os.getpid", lambda: -1)

    with pytest.raises(UsageError, match="start processes with 'spawn'"):
        tuned(a, a)
