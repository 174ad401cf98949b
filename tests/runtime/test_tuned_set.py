"""GEMMs of several problem types: the arrays of a call decide which one computes it."""

from __future__ import annotations

import copy
import logging
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from pyopencl.tools import ImmediateAllocator, MemoryPool

import mltune
from mltune.device import DeviceEntry, choose
from mltune.errors import MltuneError, NoDeviceError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.kernel import Kernel
from mltune.problem import Contraction, parse_problem_type
from mltune.runtime import TunedGemm, TunedSet, load_set, tuned_gemm
from mltune.selector import Leaf, Selector
from mltune.selector.json import write_selector
from mltune.space.config import Config
from tests.selectors import entry_of

pytestmark = pytest.mark.usefixtures("host_arrays_here")

CONFIG = Config.of(
    {
        "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
        "vector_width": 1, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
        "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
    }
)  # fmt: skip
DTYPES = ("float16", "float32", "float64", "complex64")


def selector(problem: str) -> Selector:
    contraction = parse_problem_type(problem)
    kernel = FAMILIES["tiled"].generate(contraction, CONFIG)
    entry = entry_of(kernel)
    return Selector(contraction=contraction, portfolio=(entry,), tree=Leaf(0))


def tuned(*problems: str) -> TunedSet:
    return mltune.load([selector(each) for each in problems])


ALL = tuple(f"{letter}gemm_{trans}" for letter in "hsdc" for trans in ("nn", "nt", "tn"))


@pytest.fixture(scope="module")
def whole() -> TunedSet:
    """Three problem types serve all memory orders, because a row-major C is a transposed one."""
    return tuned(*ALL)


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str, order: str) -> Any:
    x = rng.standard_normal(shape)
    if dtype.startswith("c"):
        x = x + 1j * rng.standard_normal(shape)
    x = x.astype(dtype)
    return x if order == "C" else np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def right(result: Any, a: Any, b: Any) -> None:
    wide = np.result_type(a.dtype, np.float64)
    bound = 200 * float(np.finfo(a.dtype).eps)
    assert result.dtype == a.dtype
    np.testing.assert_allclose(result, a.astype(wide) @ b.astype(wide), rtol=bound, atol=bound)


@pytest.mark.parametrize("order_b", "CF")
@pytest.mark.parametrize("order_a", "CF")
@pytest.mark.parametrize("dtype", DTYPES)
def test_precision_and_memory_orders_find_the_problem_type(
    dtype: str, order_a: str, order_b: str, whole: TunedSet, queue: cl.CommandQueue
) -> None:
    rng = np.random.default_rng(5)
    a, b = numbers(rng, (9, 6), dtype, order_a), numbers(rng, (6, 11), dtype, order_b)
    before = whole.copied

    right(whole(a, b), a, b)
    assert whole.copied.repacked == before.repacked
    assert whole.copied.arrays == before.arrays + 3

    now = whole.copied
    on_a, on_b = (cl_array.to_device(queue, each) for each in (a, b))
    right(whole(on_a, on_b).get(), a, b)
    assert whole.copied == now
    if (order_a, order_b) == ("C", "C"):
        assert whole(on_a, on_b).flags.c_contiguous


@pytest.mark.device
def test_other_layouts_are_repacked_on_the_host_and_counted(
    whole: TunedSet, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(6)
    wide = numbers(rng, (18, 24), "float32", "C")
    a, b = wide[::2, ::4], wide[5::-1, 3:14]

    right(whole(a, b), a, b)
    one = tuned("sgemm_nn")
    x, y = numbers(rng, (4, 3), "float32", "C"), numbers(rng, (3, 5), "float32", "F")
    caplog.clear()  # the first call of `whole` in this process says the same
    with caplog.at_level(logging.WARNING):
        right(one(x, y), x, y)
        right(one(x, y), x, y)

    copied = one.copied
    assert (copied.calls, copied.arrays, copied.repacked) == (2, 6, 2)
    assert copied.bytes in (2 * 4 * (12 + 15 + 20 + 12), 2 * 4 * (12 + 15 + 20 + 15))
    assert [record.getMessage() for record in caplog.records] == [
        "tuned GEMMs: arrays live on the host: 4 copies of "
        f"{copied.bytes / 2e6:.3g} MB in all for the first call "
        "(keep them on the device with pyopencl.array)"
    ]


@pytest.mark.device
@pytest.mark.parametrize("problem", ["sgemm_nn", "sgemm_nn_row", "sgemm_tt_batched"])
@pytest.mark.parametrize("order", "CF")
def test_one_selector_serves_both_orders_without_repacking(problem: str, order: str) -> None:
    rng = np.random.default_rng(10)
    lead = (2,) if "batched" in problem else ()
    a, b = (numbers(rng, (*lead, *shape), "float32", order) for shape in ((5, 4), (4, 6)))
    one = tuned(problem)[problem]

    right(one(a, b), a, b)

    assert (one.copied.arrays, one.copied.repacked) == (3, 0)


@pytest.mark.device
@pytest.mark.parametrize("orders", ["CF", "FC"])
@pytest.mark.parametrize("problem", ["sgemm_nn", "sgemm_nn_row"])
def test_of_ways_with_as_many_copies_one_with_a_row_major_c_is_taken(
    problem: str, orders: str
) -> None:
    rng = np.random.default_rng(11)
    a, b = (numbers(rng, (5, 5), "float32", order) for order in orders)
    given = tuned(problem)

    for called in (given, given[problem]):
        result = called(a, b)
        right(result, a, b)
        assert result.flags.c_contiguous


@pytest.mark.device
@pytest.mark.parametrize("is_set", [True, False])
def test_a_call_that_fails_is_no_call_with_copies(
    is_set: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tuned("sgemm_nn")
    called: Any = given if is_set else given["sgemm_nn"]
    a, b = np.ones((4, 3), "float32"), np.ones((2, 5), "float32")

    with monkeypatch.context() as without:
        without.setattr("mltune.runtime.arrays.to_device", None)  # nothing is copied
        with pytest.raises(UsageError, match=r"b must be \(3, n\)"):
            called(a, b)
    assert called.copied.arrays == 0
    called(a, a.T)

    assert called.copied.calls == 1
    assert f"{called.copied.arrays + called.copied.repacked} copies of" in caplog.text


@pytest.mark.parametrize("problem", ["sgemm_nn", "sgemm_nn_batched"])
@pytest.mark.parametrize("sizes", [((3, 5, 6), (2, 6, 7)), ((3, 5, 6), (3, 5, 6))])
def test_a_batch_that_does_not_fit_is_refused_before_it_is_copied(
    problem: str, sizes: tuple[tuple[int, ...], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.runtime.arrays.to_device", None)

    with pytest.raises(UsageError, match=r"of one length, got|b must be \(3, 6, n\) beside"):
        tuned(problem)(*(np.zeros(each, "float32") for each in sizes))


@pytest.mark.parametrize("problems", [("sgemm_nn",), ("sgemm_nn_batched",)])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (0,)])
def test_a_batch_is_one_launch_or_several(
    batch: tuple[int, ...], problems: tuple[str, ...], queue: cl.CommandQueue
) -> None:
    rng = np.random.default_rng(7)
    given = tuned(*problems)
    a, b = (numbers(rng, (*batch, *shape), "float32", "C") for shape in ((5, 4), (4, 6)))
    old = numbers(rng, (*batch, 5, 6), "float32", "C")
    on_a, on_b, c = (cl_array.to_device(queue, each) for each in (a, b, old))

    right(given(a, b), a, b)
    pooled = MemoryPool(ImmediateAllocator(queue))
    c_of_pool = given(cl_array.to_device(queue, a, allocator=pooled), on_b)
    assert c_of_pool.allocator is pooled
    right(c_of_pool.get(), a, b)
    on_pool = cl_array.to_device(queue, a, allocator=pooled)
    assert given.gemm(cl.CommandQueue(queue.context), on_pool, on_b)[0].allocator is None
    result, event = given.gemm(queue, on_a, on_b, c, alpha=2, beta=-1)

    event.wait()
    assert result is c
    np.testing.assert_allclose(c.get(), 2 * (a @ b) - old, rtol=1e-4, atol=1e-4)
    given.release()


@pytest.mark.parametrize("problem", ["sgemm_nn", "sgemm_nn_batched"])
def test_a_product_of_a_batch_must_not_overwrite_what_others_read_or_write(
    problem: str, queue: cl.CommandQueue
) -> None:
    given = tuned(problem)
    whole = cl_array.to_device(queue, np.ones((3, 8, 8), "float32"))
    other = cl_array.to_device(queue, np.ones((2, 8, 8), "float32"))
    twice = cl_array.Array(queue, (2, 8, 8), "float32", data=other.base_data, strides=(0, 32, 4))

    for a, b in ((whole[:2], other), (other, whole[:2])):
        with pytest.raises(UsageError, match=r"c must not share memory with [ab], which"):
            given.gemm(queue, a, b, whole[1:])
    with pytest.raises(UsageError, match="c's elements overlap"):
        given.gemm(queue, whole[:2], whole[:2], twice)
    given.gemm(queue, whole[:2], other, whole[1:], alpha=0)[1].wait()
    np.testing.assert_array_equal(whole.get()[1:], 0)
    given.release()


def test_a_long_batch_is_enqueued_before_the_event_that_it_waits_for(
    queue: cl.CommandQueue,
) -> None:
    """Its products shared a list of events, which waits for the first ones when it is full."""
    given = tuned("sgemm_nn")
    a = cl_array.to_device(queue, np.ones((20, 2, 2), "float32"))
    c = cl_array.zeros(queue, a.shape, a.dtype)
    begun = cl.UserEvent(queue.context)
    call = threading.Thread(target=lambda: given.gemm(queue, a, a, c, wait_for=[begun]))

    call.start()
    call.join(20)
    waits = call.is_alive()
    begun.set_status(cl.command_execution_status.COMPLETE)
    call.join()

    assert not waits
    np.testing.assert_array_equal(c.get(), 2)
    given.release()


def test_the_c_of_a_batch_keeps_the_event_of_its_last_call_alone(queue: cl.CommandQueue) -> None:
    given = tuned("sgemm_nn")
    a, c = (cl_array.to_device(queue, np.ones((3, 2, 2), "float32")) for _ in "ac")

    for _ in range(3):
        _, event = given.gemm(queue, a, a, c)
        assert c.events == [event]

    np.testing.assert_array_equal(c.get(), 2)
    given.release()


def test_c_waits_for_the_products_before_one_that_fails(
    queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tuned("sgemm_nn")
    a = cl_array.to_device(queue, np.ones((3, 2, 2), "float32"))
    c = cl_array.empty(queue, a.shape, a.dtype)
    c.events.clear()
    whole, calls = TunedGemm.gemm, []

    def second_fails(*args: Any, **named: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise MltuneError("it fails")
        return whole(*args, **named)

    monkeypatch.setattr(TunedGemm, "gemm", second_fails)
    with pytest.raises(
        MltuneError, match=r"^it fails \(after 1 product of .*, so c has changed\)$"
    ):
        given.gemm(queue, a, a, c)

    assert len(c.events) == 1
    queue.finish()
    given.release()


def test_a_batch_that_ends_beyond_its_buffer_is_wrong_use(queue: cl.CommandQueue) -> None:
    given = tuned("sgemm_nn")
    a = cl_array.to_device(queue, np.ones((3, 2, 2), "float32"))
    short = cl_array.Array(queue, a.shape, a.dtype, data=a[:2].copy().base_data)

    with pytest.raises(UsageError, match=r"^sgemm_nn: b must lie in its .* so c has changed\)$"):
        given.gemm(queue, a, short)
    queue.finish()
    given.release()


@pytest.mark.parametrize("terms", [0, 1])
@pytest.mark.parametrize("order", "CF")
def test_a_batch_of_outer_products_comes_back_from_the_device(order: str, terms: int) -> None:
    rng = np.random.default_rng(12)
    a, b = (numbers(rng, (2, *shape), "float32", order) for shape in ((5, terms), (terms, 6)))
    given = tuned("sgemm_nn_batched")

    for called in (given, given["sgemm_nn_batched"]):
        right(called(a, b), a, b)


@pytest.mark.device
def test_conjugating_types_are_used_by_name_alone() -> None:
    both = tuned("cgemm_nc", "cgemm_nn")
    rng = np.random.default_rng(8)
    a, b = (numbers(rng, (5, 5), "complex64", "F") for _ in "ab")

    right(both(a, b), a, b)
    assert list(both) == ["cgemm_nc", "cgemm_nn"]
    assert isinstance(both["cgemm_nc"], TunedGemm)
    assert len(both) == 2


@pytest.mark.device
def test_compute_types_are_used_by_name_alone() -> None:
    both = tuned("sgemm_nn_tf32", "sgemm_nn")
    rng = np.random.default_rng(9)
    a, b = (numbers(rng, (5, 5), "float32", "F") for _ in "ab")

    right(both(a, b), a, b)
    right(both["sgemm_nn_tf32"](a, b), a, b)
    with pytest.raises(UsageError, match="holds no problem type"):
        tuned("sgemm_nn_tf32")(a, b)


def test_what_is_not_held_is_one_line_with_what_to_do(queue: cl.CommandQueue) -> None:
    held = tuned("sgemm_nn", "dgemm_nn")
    a = cl_array.to_device(queue, np.zeros((4, 4), "float32"))
    turned = cl_array.to_device(queue, np.zeros((4, 4), "float32", order="F"))
    half = np.zeros((4, 4), "float16")
    cases: list[tuple[Any, Any, str]] = [
        (a, turned, "holds no problem type for these arrays, such as sgemm_tn (held: sgemm_nn, "
         "dgemm_nn; tune it: mltune tune --problems sgemm_tn -o mine)"),
        (half, half, "holds no problem type for these arrays, such as hgemm_nn (held: sgemm_nn, "
         "dgemm_nn; tune it: mltune tune --problems hgemm_nn -o mine)"),
        (a[::2, ::2], a[:2, :2], "rows or columns must be contiguous, got strides of (32, 8) "
         "bytes (held: sgemm_nn, dgemm_nn)"),
        (half, half.astype("float32"), "all arrays must have one type, got float16 and float32"),
        (half[0], half, "arrays must all be matrices, or all batches of matrices, got (4,) and "
         "(4, 4)"),
        (half.astype(int), half.astype(int),
         "computes with float16, float32, float64, complex64, complex128, got int64"),
        (np.zeros((3, 5, 6), "float32"), np.zeros((2, 6, 7), "float32"),
         "batches must be of one length, got (3, 5, 6) and (2, 6, 7)"),
        (np.ma.masked_array(half), half,
         "masks have no effect; say a.filled(0) for masked arrays"),
        (a, half, "a and b must both be numpy or pyopencl arrays, got Array and ndarray"),
    ]  # fmt: skip
    for x, y, message in cases:
        with pytest.raises(UsageError) as caught:
            held(x, y)
        assert str(caught.value) == f"tuned GEMMs: {message}"


@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"queue": None}, "queue must be a pyopencl command queue, got NoneType"),
        ({"wait_for": 5}, r"wait_for must be a sequence of events such as \[event\], got int"),
    ],
)
def test_wrong_arguments_for_a_batch_are_one_line(
    queue: cl.CommandQueue, batch: int, wrong: dict[str, Any], words: str
) -> None:
    a = cl_array.zeros(queue, (batch, 4, 4), "float32")
    with pytest.raises(UsageError, match=f"^tuned GEMMs: {words}$"):
        tuned("sgemm_nn").gemm(**{"queue": queue, "a": a, "b": a, **wrong})


def test_other_processes_may_have_a_set(tmp_path: Path) -> None:
    held = load_set([selector("sgemm_nn"), selector("dgemm_nt")], name="mine", device="0:0")

    sent = pickle.loads(pickle.dumps(held))

    assert repr(sent) == repr(held)
    assert sent["dgemm_nt"].selector == held["dgemm_nt"].selector
    x = np.eye(4, dtype="float64")
    assert (copy.deepcopy(held)(x, x.T) == x).all()


@pytest.mark.device
def test_a_folder_of_tune_and_a_device_s_name_mean_all_of_their_selectors(tmp_path: Path) -> None:
    for problem in ("sgemm_nt", "dgemm_nn"):
        (tmp_path / "tuned" / "selectors" / problem).mkdir(parents=True)
        write_selector(
            selector(problem), tmp_path / "tuned" / "selectors" / problem / "selector.json"
        )

    for folder in (tmp_path / "tuned", tmp_path / "tuned" / "selectors"):
        assert list(mltune.load(folder)) == ["dgemm_nn", "sgemm_nt"]
    packs = mltune.load("pthread-amd-epyc")
    assert "sgemm_nn" in packs
    assert repr(packs).startswith("<TunedSet pthread-amd-epyc: ")


@pytest.mark.device
def test_a_set_has_one_selector_for_each_problem_type_and_learns_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two selectors are for sgemm_nn"):
        tuned("sgemm_nn", "sgemm_nn")
    with pytest.raises(UsageError, match="there are no selectors"):
        tuned()
    with pytest.raises(UsageError, match="learn takes one selector"):
        mltune.load("pthread-amd-epyc", learn=tmp_path / "learned.json")


@pytest.mark.device
def test_a_set_of_one_selects_and_others_name_a_problem_type() -> None:
    assert tuned("sgemm_nn").select(5, 6, 7).index == 0
    both = tuned("sgemm_nn", "dgemm_nn")
    assert both["dgemm_nn"].select(5, 6, 7).index == 0
    with pytest.raises(UsageError, match=r'ask one of them, such as gemm\["sgemm_nn"\].select\('):
        both.select(5, 6, 7)


@pytest.mark.device
def test_host_arrays_go_to_the_device_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(spec: str) -> None:
        asked.append(spec)
        raise NoDeviceError("there is none")

    monkeypatch.setattr("mltune.runtime.tuned_gemm.choose", refuse)
    a = np.ones((4, 4), "float32")
    for given in (selector("sgemm_nn"), [selector("sgemm_nn")]):
        with pytest.raises(NoDeviceError):
            mltune.load(given, device="7:1")(a, a)

    assert asked == ["7:1", "7:1"]


@pytest.mark.device
def test_texts_that_mean_one_device_give_one_queue(
    monkeypatch: pytest.MonkeyPatch, device_spec: str
) -> None:
    asked = []

    def here(spec: str) -> DeviceEntry:
        asked.append(spec)
        return choose(device_spec)

    monkeypatch.setattr("mltune.runtime.tuned_gemm.choose", here)
    tuned_gemm._host_device.cache_clear()
    given = [mltune.load(selector("sgemm_nn"), device=each) for each in (None, "auto", "cpu")]
    queues = [each.host_queue() for each in given]

    assert queues[0] is queues[1] is queues[2]
    assert asked == ["opencl:auto", "cpu"]


def test_a_problem_type_is_loaded_at_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for problem in ("sgemm_nn", "dgemm_nn"):
        write_selector(selector(problem), tmp_path / problem / "selector.json")
    damaged = tmp_path / "dgemm_nn" / "selector.json"
    damaged.write_text(damaged.read_text().replace('"exact": []', '"exact": [[0, 1, 1, 1, 0]]'))
    written = []
    generate = type(FAMILIES["tiled"]).generate

    def noted(family: Any, contraction: Contraction, config: Config) -> Kernel:
        written.append(contraction.precision.value)
        return generate(family, contraction, config)

    monkeypatch.setattr(type(FAMILIES["tiled"]), "generate", noted)
    held = copy.deepcopy(pickle.loads(pickle.dumps(mltune.load(tmp_path))))
    x = np.eye(4, dtype="float32")

    assert not written
    held.release()
    shutil.rmtree(tmp_path / "sgemm_nn")  # such as the files of a package in an archive
    with ThreadPoolExecutor(4) as threads:
        assert all((each == x).all() for each in threads.map(lambda _: held(x, x), range(8)))
    assert written == ["s"]
    with pytest.raises(UsageError, match=r"nn/selector\.json: exact\.0\.0: expected a whole"):
        held(x.astype("float64"), x.astype("float64"))


def test_a_fork_does_not_wait_for_a_thread_that_loads_in_the_process_before_it(
    tmp_path: Path,
) -> None:
    write_selector(selector("sgemm_nn"), tmp_path / "selector.json")
    script = """
import os, signal, sys, threading
import mltune
from mltune.runtime.loading import SelectorFile

load, begins, ends = SelectorFile.load, threading.Event(), threading.Event()

def slow(*given, **options):
    begins.set()
    ends.wait()
    return load(*given, **options)

held = mltune.load(sys.argv[1:])
SelectorFile.load = slow
thread = threading.Thread(target=held.select, args=(3, 3, 3))
thread.start()
begins.wait()
if os.fork() == 0:
    signal.alarm(20)
    SelectorFile.load = load
    print(held.select(3, 3, 3).index, flush=True)
    os._exit(0)
os.wait()
ends.set()
"""

    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )

    assert done.stdout == "0\n"


def test_a_file_that_cannot_be_a_selector_is_refused_at_once(tmp_path: Path) -> None:
    for number, (old, new, words) in enumerate(
        [
            ("contraction", "contractoin", "field 'contraction' is missing"),
            ("Cij_Aik_Bkj_SB", "Cij_SB", "contraction: 'Cij_SB' is no name"),
            ("mltune selector", "another", "not a selector that `mltune distil` wrote"),
            ('n": 2', 'n": 3, "new": 0', "schema_version: expected 2, got 3"),
        ]
    ):
        file = tmp_path / str(number) / "one" / "selector.json"
        write_selector(selector("sgemm_nn"), file)
        file.write_text(file.read_text().replace(old, new))

        with pytest.raises(UsageError, match=f"^{file}: {words}"):
            mltune.load(tmp_path / str(number))
