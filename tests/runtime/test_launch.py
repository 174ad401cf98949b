import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from pyopencl.tools import ImmediateAllocator, MemoryPool, SVMAllocator

from mltune.kernel import two_step_build
from mltune.problem import Contraction, Precision, gemm, problem_type_name
from mltune.problem.layout import memory_orders
from mltune.runtime.building import build, second_step_text
from mltune.runtime.gemm_kernel import GemmError, GemmKernel, GemmType
from mltune.runtime.launch import Launcher
from tests.ptx_texts import BODY, HEAD, OTHERS, TWO_STEPS

Write = Callable[[Contraction], GemmKernel]
REAL = [
    gemm(Precision.SINGLE, a, b, order) for a in "nt" for b in "nt" for order in ("column", "row")
]


def type_of(contraction: Contraction) -> GemmType:
    return GemmType(
        name=problem_type_name(contraction),
        dtype=contraction.precision.dtype,
        orders=memory_orders(contraction),
        batched=bool(contraction.batch_indices),
        conjugate=(contraction.conjugate_a, contraction.conjugate_b),
    )


def launcher(contraction: Contraction, write: Write) -> Launcher:
    return Launcher(type_of(contraction), [write(contraction)], lambda m, n, k, batch: 0)


def matrix(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def on_device(queue: cl.CommandQueue, values: Any, order: str, gap: int = 0) -> Any:
    """An array in a memory order; its leading dimension is larger by `gap`."""
    rows, columns = values.shape[-2:]
    lead = values.shape[:-2]
    if order == "F":
        whole = np.full((*lead, columns, rows + gap), np.nan, values.dtype)
        whole[..., :rows] = values.swapaxes(-1, -2)
        view = cl_array.to_device(queue, whole)[..., :rows]
        axes = (*range(len(lead)), view.ndim - 1, view.ndim - 2)
        return view.transpose(axes)
    whole = np.full((*lead, rows, columns + gap), np.nan, values.dtype)
    whole[..., :columns] = values
    return cl_array.to_device(queue, whole)[..., :columns]


def get(array: Any) -> Any:
    """An array's values, also if it is strided."""
    raw = np.empty(array.base_data.size, np.uint8)
    cl.enqueue_copy(array.queue, raw, array.base_data)
    typed = raw[array.offset :]
    return np.ndarray(array.shape, array.dtype, typed, 0, array.strides).copy()


@pytest.mark.parametrize("contraction", REAL, ids=problem_type_name)
@pytest.mark.parametrize("exchanged", [False, True])
def test_takes_the_tuned_orders_and_their_exchange(
    queue: cl.CommandQueue, naive_kernel: Write, contraction: Contraction, exchanged: bool
) -> None:
    rng = np.random.default_rng(1)
    a, b, c = matrix(rng, (7, 5)), matrix(rng, (5, 3)), matrix(rng, (7, 3))
    layout = type_of(contraction).exchanged() if exchanged else type_of(contraction)
    assert layout is not None
    arrays = [
        on_device(queue, values, order, gap)
        for values, order, gap in zip((a, b, c), layout.orders, (1, 2, 3), strict=True)
    ]

    result, event = launcher(contraction, naive_kernel).gemm(queue, *arrays, alpha=2, beta=-0.5)
    event.wait()

    assert result is arrays[2]
    np.testing.assert_allclose(get(result), 2 * a @ b - 0.5 * c, rtol=1e-5, atol=1e-5)


def test_every_pair_of_orders_is_taken_or_refused_as_the_type_says(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    rng = np.random.default_rng(2)
    a, b, c = matrix(rng, (4, 5)), matrix(rng, (5, 3)), matrix(rng, (4, 3))
    for contraction in REAL:
        tuned = type_of(contraction)
        exchanged = tuned.exchanged()
        assert exchanged is not None
        for orders in itertools.product("FC", repeat=3):
            arrays = [
                on_device(queue, values, order)
                for values, order in zip((a, b, c), orders, strict=True)
            ]
            if "".join(orders) in (tuned.orders, exchanged.orders):
                result, _ = launcher(contraction, naive_kernel).gemm(queue, *arrays)
                np.testing.assert_allclose(get(result), a @ b, rtol=1e-5, atol=1e-5)
            else:
                with pytest.raises(GemmError, match="memory orders must be"):
                    launcher(contraction, naive_kernel).gemm(queue, *arrays)


def test_makes_c_in_the_order_that_the_operands_have(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    rng = np.random.default_rng(3)
    a, b = matrix(rng, (6, 4)), matrix(rng, (4, 5))
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    for order, contiguous in (("F", 0), ("C", 1)):
        c, _ = tuned.gemm(queue, on_device(queue, a, order), on_device(queue, b, order))

        assert c.strides[contiguous] == 4
        np.testing.assert_allclose(get(c), a @ b, rtol=1e-5, atol=1e-5)


def test_makes_c_by_the_allocator_of_a(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    ones = np.ones((4, 4), "float32", order="F")
    shared = SVMAllocator(
        queue.context, alignment=0, flags=cl.svm_mem_flags.READ_WRITE, queue=queue
    )
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    for allocator in (None, MemoryPool(ImmediateAllocator(queue)), shared):
        a = cl_array.to_device(queue, ones, allocator=allocator)
        results = [tuned.gemm(queue, a, cl_array.to_device(queue, ones))[0] for _ in range(2)]

        for c in results:
            assert c.allocator is allocator
            assert c.queue == queue
            assert (c.get() == 4).all()
        assert results[0].base_data is not results[1].base_data


def test_another_queue_gets_memory_that_lasts_until_its_own_commands_have_ended(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    ones = np.ones((4, 4), "float32", order="F")
    pool = MemoryPool(ImmediateAllocator(queue))
    a = cl_array.to_device(queue, ones, allocator=pool)
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    other, go_on = cl.CommandQueue(queue.context), cl.UserEvent(queue.context)
    try:
        tuned.gemm(other, a, a, wait_for=[go_on])  # nobody keeps c
        later = cl_array.to_device(queue, 2 * ones, allocator=pool)
        queue.finish()
    finally:
        go_on.set_status(cl.command_execution_status.COMPLETE)
    other.finish()

    assert (later.get() == 2).all()


@pytest.mark.filterwarnings("ignore::pyopencl.array.InconsistentOpenCLQueueWarning")
def test_makes_no_c_in_memory_that_is_freed_under_a_kernel(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    shared = SVMAllocator(queue.context, alignment=0, flags=cl.svm_mem_flags.READ_WRITE)
    a = cl_array.to_device(queue, np.ones((4, 4), "float32", order="F"), allocator=shared)

    c, _ = launcher(gemm(Precision.SINGLE), naive_kernel).gemm(queue, a, a)

    assert isinstance(c.base_data, cl.Buffer)
    assert (c.get() == 4).all()


def test_makes_c_for_each_context(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    ones = np.ones((4, 4), "float32", order="F")
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    other = cl.CommandQueue(cl.Context([queue.device]))

    for each in (queue, other, queue):
        a = cl_array.to_device(each, ones)
        c, _ = tuned.gemm(each, a, a)

        assert c.context == each.context
        assert (c.get() == 4).all()


def test_chooses_by_the_size_that_the_kernel_computes(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    asked: list[tuple[int, int, int, int]] = []

    def select(m: int, n: int, k: int, batch: int) -> int:
        asked.append((m, n, k, batch))
        return 0

    contraction = gemm(Precision.SINGLE)
    tuned = Launcher(type_of(contraction), [naive_kernel(contraction)], select)
    a, b = np.ones((6, 4), "float32"), np.ones((4, 5), "float32")
    for order in "FC":
        tuned.gemm(queue, on_device(queue, a, order), on_device(queue, b, order))

    assert asked == [(6, 5, 4, 1), (5, 6, 4, 1)]


@pytest.mark.parametrize("trans_a", ["n", "c"])
@pytest.mark.parametrize("trans_b", ["n", "c"])
@pytest.mark.parametrize("order", ["column", "row"])
def test_conjugates_what_the_type_says(
    queue: cl.CommandQueue, naive_kernel: Write, trans_a: str, trans_b: str, order: str
) -> None:
    rng = np.random.default_rng(4)
    contraction = gemm(Precision.COMPLEX_DOUBLE, trans_a, trans_b, order)
    layout = type_of(contraction)
    a, b = matrix(rng, (5, 6), "complex128"), matrix(rng, (6, 3), "complex128")
    arrays = [
        on_device(queue, values, orders)
        for values, orders in zip((a, b), layout.orders[:2], strict=True)
    ]

    c, _ = launcher(contraction, naive_kernel).gemm(queue, *arrays, alpha=2j)

    left = a.conj() if trans_a == "c" else a
    right = b.conj() if trans_b == "c" else b
    np.testing.assert_allclose(get(c), 2j * left @ right)
    assert (layout.exchanged() is None) == (trans_a != trans_b)


def test_batches_may_lie_between_the_rows_or_be_one_matrix_for_all(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    rng = np.random.default_rng(5)
    contraction = gemm(Precision.SINGLE, order="row", batched=True)
    tuned = launcher(contraction, naive_kernel)
    a, b = matrix(rng, (6, 3, 4)), matrix(rng, (3, 4, 5))
    rows_first: Any = cl_array.to_device(queue, a)  # m x batch x k
    on_b = cl_array.to_device(queue, b)

    c, _ = tuned.gemm(queue, rows_first.transpose((1, 0, 2)), on_b)
    np.testing.assert_allclose(get(c), a.swapaxes(0, 1) @ b, rtol=1e-5, atol=1e-5)

    same = cl_array.Array(queue, (3, 4, 5), "float32", data=on_b.base_data, strides=(0, 20, 4))
    c, _ = tuned.gemm(queue, rows_first.transpose((1, 0, 2)), same)
    np.testing.assert_allclose(get(c), a.swapaxes(0, 1) @ b[0], rtol=1e-5, atol=1e-5)


def test_offsets_are_kept(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    rng = np.random.default_rng(6)
    whole = matrix(rng, (10, 12))
    arrays = cl_array.to_device(queue, whole)
    a, b = arrays[2:6, 3:8], arrays[5:10, 1:4]

    c, _ = launcher(gemm(Precision.SINGLE), naive_kernel).gemm(queue, a, b)

    np.testing.assert_allclose(get(c), whole[2:6, 3:8] @ whole[5:10, 1:4], rtol=1e-5, atol=1e-5)


def test_instructions_are_released_as_where_they_were_measured() -> None:
    texts = [HEAD + BODY, HEAD.replace(b"sm_90,", b"sm_90a,") + BODY + b"\0"]
    for binary in [*texts, *OTHERS.values()]:
        assert second_step_text(binary) == two_step_build.second_step_text(binary)


@pytest.mark.parametrize("devices", [1, 2])
def test_what_has_marked_instructions_is_built_twice(
    devices: int, queue: cl.CommandQueue, naive_kernel: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    contraction = gemm(Precision.SINGLE)
    plain = naive_kernel(contraction)
    kernel = replace(plain, source=plain.source + TWO_STEPS, two_steps=True)
    tuned = Launcher(type_of(contraction), [kernel], lambda m, n, k, batch: 0)
    if devices == 2:
        if queue.device.max_compute_units < 2:
            pytest.skip("needs a device that can be parted")
        halves = cast(Any, [cl.device_partition_property.EQUALLY, 1])
        parts = queue.device.create_sub_devices(halves)
        queue = cl.CommandQueue(cl.Context(parts[:2]), parts[1])
    a, b = np.ones((6, 4), "float32"), np.ones((4, 5), "float32")
    arrays = on_device(queue, a, "F"), on_device(queue, b, "F")

    with pytest.raises(GemmError, match="kernel naive needs a driver that gives binaries as PTX"):
        tuned.gemm(queue, *arrays)

    # PoCL's binaries are no PTX, but can be built again, too.
    monkeypatch.setattr("mltune.runtime.building.second_step_text", lambda binary: binary)
    c, _ = tuned.gemm(queue, *arrays)
    assert get(c).tolist() == (a @ b).tolist()


def test_vectors_fit_either_order(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    rng = np.random.default_rng(7)
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    for m, n, k in ((1, 6, 5), (6, 1, 5), (6, 5, 1), (1, 1, 5), (1, 1, 1)):
        a, b = matrix(rng, (m, k)), matrix(rng, (k, n))
        c, _ = tuned.gemm(queue, on_device(queue, a, "C"), on_device(queue, b, "C"))
        np.testing.assert_allclose(get(c), a @ b, rtol=1e-5, atol=1e-5)


def test_empty_sizes_follow_blas(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    def zeros(*shape: int) -> cl_array.Array:
        return cl_array.zeros(queue, shape, "float32", order="F")

    c = zeros(3, 2) + 4
    _, event = tuned.gemm(queue, zeros(3, 0), zeros(0, 2), c, beta=0.5)
    event.wait()
    assert (get(c) == 2).all()

    nothing, event = tuned.gemm(queue, zeros(0, 3), zeros(3, 2))
    event.wait()
    assert nothing.shape == (0, 2)


def test_alpha_zero_does_not_read_the_operands(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    nan = np.full((3, 3), np.nan, "float32")
    c = on_device(queue, np.ones((3, 3), "float32"), "F")

    launcher(gemm(Precision.SINGLE), naive_kernel).gemm(
        queue, on_device(queue, nan, "F"), on_device(queue, nan, "F"), c, alpha=0, beta=2
    )

    assert (get(c) == 2).all()


def test_what_one_call_leaves_out_the_next_one_on_the_same_arrays_computes(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    ones = np.ones((3, 3), "float32")
    a, b, c = (on_device(queue, ones, "F") for _ in range(3))
    gemm_of_ones = launcher(gemm(Precision.SINGLE), naive_kernel).gemm

    results = []
    for alpha in (0, 2, 0, 1):
        gemm_of_ones(queue, a, b, c, alpha=alpha)
        results.append(get(c)[0, 0])

    assert results == [0, 6, 0, 3]


def test_beta_zero_does_not_read_c(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    ones = np.ones((3, 3), "float32")
    c = on_device(queue, ones * np.nan, "F")

    launcher(gemm(Precision.SINGLE), naive_kernel).gemm(
        queue, on_device(queue, ones, "F"), on_device(queue, ones, "F"), c
    )

    assert (get(c) == 3).all()


def test_threads_share_the_built_kernels(
    queue: cl.CommandQueue, naive_kernel: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    contraction = gemm(Precision.DOUBLE)
    tuned = launcher(contraction, naive_kernel)
    wrong: list[int] = []
    builds: list[object] = []

    def counted(queue: cl.CommandQueue, *arguments: Any, **options: Any) -> Any:
        builds.append(queue)
        return build(queue, *arguments, **options)

    monkeypatch.setattr("mltune.runtime.built_kernels.build", counted)

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        own = cl.CommandQueue(queue.context)
        for _ in range(10):
            m, n, k = (int(extent) for extent in rng.integers(1, 20, 3))
            a, b = matrix(rng, (m, k), "float64"), matrix(rng, (k, n), "float64")
            c, event = tuned.gemm(own, on_device(own, a, "F"), on_device(own, b, "F"))
            event.wait()
            if not np.allclose(get(c), a @ b):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(builds) == 1
    assert tuned.is_built(queue, 0)
    tuned.release()
    assert not tuned.is_built(queue, 0)


def test_an_array_keeps_the_event_of_its_last_call_alone(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    """Else each call would wait for twelve more events, and now and then stop for the first."""
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    a = cl_array.to_device(queue, np.ones((4, 4), np.float32))
    c = cl_array.zeros(queue, (4, 4), np.float32)
    other = cl.UserEvent(queue.context)
    other.set_status(cl.command_execution_status.COMPLETE)
    c.add_event(other)

    for _ in range(3):
        _, event = tuned.gemm(queue, a, a, c)
        assert c.events == [event]
    assert np.all(c.get() == 4)


def test_a_call_returns_while_an_array_waits_for_many_events(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    """pyopencl would wait for the first of them, which the caller may still have to end."""
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    a, c = (on_device(queue, np.ones((2, 2), "float32"), "F") for _ in range(2))
    begun = cl.UserEvent(queue.context)
    c.events.extend([begun] * 12)
    call = threading.Thread(target=tuned.gemm, args=(queue, a, a, c))

    call.start()
    call.join(20)
    waits = call.is_alive()
    begun.set_status(cl.command_execution_status.COMPLETE)
    call.join()

    assert not waits
    assert len(c.events) == 1
    assert np.all(get(c) == 2)
    tuned.release()


@pytest.mark.usefixtures("strict_launches")
def test_mistakes_are_one_line_that_says_what_is_wanted(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    batched = launcher(gemm(Precision.SINGLE, batched=True), naive_kernel)

    def array(*shape: int, dtype: str = "float32", order: str = "F") -> Any:
        return cl_array.empty(queue, shape, dtype, order=order)

    a, b, c = array(4, 3), array(3, 2), array(4, 2)
    numpy_array: Any = np.ones((4, 3), "float32")
    overlap = cl_array.Array(queue, (4, 2), "float32", data=a.base_data, strides=(4, 8))
    backwards = cl_array.Array(
        queue, (4, 3), "float32", data=a.base_data, offset=32, strides=(4, -16)
    )
    other = cl.CommandQueue(cl.Context([queue.device]))
    foreign = cl_array.zeros(other, (3, 2), "float32", order="F")
    wrong: Any = None
    text: Any = "0"
    many = np.broadcast_to(np.zeros((1, 1, 1), "float32"), (2**31, 1, 1))
    one: Any = np.ones(1, "float32")
    event: Any = cl.enqueue_marker(queue)
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: tuned.gemm(queue, numpy_array, b), "a must be a pyopencl array, got ndarray"),
        (lambda: tuned.gemm(queue, a, array(3, 2, dtype="float64")), "b must be float32, got"),
        (lambda: tuned.gemm(queue, array(4, 3, 1), b), r"a must be \(rows, columns\), got"),
        (lambda: batched.gemm(queue, a, b), r"a must be \(batch, rows, columns\), got"),
        (lambda: tuned.gemm(queue, a, array(4, 2)), r"b must be \(3, n\) beside a \(4, 3\)"),
        (lambda: tuned.gemm(queue, a, b, array(4, 3)), r"c must be \(4, 2\), got \(4, 3\)"),
        (lambda: batched.sizes(many, many), r"sizes .* below 2\^31, got 1x1x1, batch 2147483648"),
        (lambda: tuned.gemm(queue, a, b, beta=1), "c must be given, as beta is 1"),
        (lambda: tuned.gemm(queue, a, b, c, alpha=1j), "alpha must be real"),
        (
            lambda: tuned.gemm(queue, a, b, c, alpha=cast(Any, np.complex64(1))),
            "alpha must be real",
        ),
        (lambda: tuned.gemm(queue, a, b, c, alpha=wrong), "alpha must be a number, got NoneType"),
        (lambda: tuned.gemm(queue, a, b, beta=wrong), "beta must be a number, got NoneType"),
        (lambda: tuned.gemm(queue, a, b, c, beta=text), "beta must be a number, got str"),
        (lambda: tuned.gemm(queue, a, b, alpha=one), "alpha must be a number, got ndarray"),
        (lambda: tuned.gemm(queue, a, b, alpha=10**400), "alpha must fit into float32: int too"),
        (
            lambda: tuned.gemm(queue, a, b, alpha=1e300),
            "alpha must fit into float32: got 1e",
        ),
        (lambda: tuned.gemm(queue, a, b, c, kernel=1), "kernel must be a number from 0 to 0, got"),
        (lambda: tuned.gemm(queue, a, b, c, kernel=text), "kernel must be .* 0 to 0, got str$"),
        (lambda: tuned.gemm(wrong, a, b), "queue must be a pyopencl command queue, got NoneType"),
        (lambda: tuned.gemm(queue, a, b, wait_for=event), "wait_for must be a sequence of events"),
        (lambda: tuned.gemm(queue, a, b, wait_for=[wrong]), "wait_for must be .* got NoneType$"),
        (lambda: tuned.gemm(queue, a, b, overlap), "c's elements overlap"),
        *(
            (
                lambda rows=rows: tuned.gemm(queue, array(rows, 3), foreign),
                "b must be of the queue's context, got another one$",
            )
            for rows in (0, 4)
        ),
        (lambda: tuned.gemm(queue, backwards, b), "memory orders must be"),
        (
            lambda: tuned.gemm(queue, a, array(3, 2, order="C"), c),
            r"memory orders must be a F, b F, c F or a C, b C, c C .* got strides of a \(4, 16\)",
        ),
    ]
    for call, message in mistakes:
        with pytest.raises(GemmError, match="^sgemm_nn.*: " + message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_numbers_of_any_kind_are_factors(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    ones = on_device(queue, np.ones((3, 3), "float32"), "F")
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    for alpha in (2, 2.0, True + 1, np.float64(2), np.int8(2), np.array(2.0), Fraction(2)):
        c, _ = tuned.gemm(queue, ones, ones, alpha=cast(Any, alpha), kernel=np.int64(0))  # type: ignore[arg-type]
        assert (get(c) == 6).all()


def in_buffer(buffer: cl.Buffer, shape: tuple[int, ...], offset: int = 0, leading: int = 0) -> Any:
    """A Fortran-ordered array in a buffer, at an offset in bytes."""
    strides = (4, 4 * (leading or shape[0]))
    queue = cl.CommandQueue(buffer.context)
    return cl_array.Array(queue, shape, "float32", data=buffer, strides=strides, offset=offset)


@pytest.mark.parametrize(
    ("name", "shape", "bytes_", "offset", "leading", "span"),
    [
        ("c", (3000, 300), 16, 0, 0, "0 to 3600000"),
        ("c", (4, 3), 48, 4, 0, "4 to 52"),
        ("c", (4, 3), 63, 0, 6, "0 to 64"),
        ("a", (4, 3), 47, 0, 0, "0 to 48"),
        ("a", (4, 3), 48, 4096, 0, "4096 to 4144"),
        ("b", (4, 3), 48, -4, 0, "-4 to 44"),
    ],
)
def test_an_array_that_ends_beyond_its_buffer_is_refused(
    queue: cl.CommandQueue, naive_kernel: Write, name: str, shape: tuple[int, int],
    bytes_: int, offset: int, leading: int, span: str,
) -> None:  # fmt: skip
    rows, columns = shape
    wrong = in_buffer(
        cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, bytes_), shape, offset, leading
    )
    shapes = {"a": (rows, 2), "b": (2, columns), "c": (rows, columns)}
    if name == "a":
        shapes |= {"b": (columns, 2), "c": (rows, 2)}
    if name == "b":
        shapes |= {"a": (2, rows), "c": (2, columns)}
    arrays = {
        key: on_device(queue, np.ones(value, "float32"), "F") for key, value in shapes.items()
    }

    with pytest.raises(
        GemmError, match=rf"^sgemm_nn: {name} must lie in its buffer of {bytes_} bytes, "
        rf"got bytes {span} for \({rows}, {columns}\)$",
    ):  # fmt: skip
        launcher(gemm(Precision.SINGLE), naive_kernel).gemm(queue, **(arrays | {name: wrong}))


@pytest.mark.usefixtures("strict_launches")
def test_an_array_made_without_a_queue_is_not_blamed_for_a_wrong_event(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    a = cl_array.zeros(queue, (3, 3), "float32", order="F")
    bare: Any = cl_array.Array(None, a.shape, a.dtype, order="F", data=a.base_data)
    other = cl.CommandQueue(cl.Context([queue.device]))
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    with pytest.raises(cl.LogicError, match="INVALID_CONTEXT"):
        tuned.gemm(queue, bare, a, wait_for=[cl.enqueue_marker(other)])
    tuned.gemm(queue, bare, a)[1].wait()
    tuned.release()


def test_arrays_that_are_not_read_need_no_room(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    small = in_buffer(cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 16), (300, 300))
    c = on_device(queue, np.ones((300, 300), "float32"), "F")

    launcher(gemm(Precision.SINGLE), naive_kernel).gemm(queue, small, small, c, alpha=0, beta=2)
    launcher(gemm(Precision.SINGLE), naive_kernel).gemm(queue, c, c, c, alpha=0, beta=2)

    assert (get(c) == 4).all()


def test_c_that_shares_memory_with_an_operand_is_refused(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 1 << 16)
    front, back = whole.get_sub_region(0, 8192), whole.get_sub_region(4096, 8192)
    ones = on_device(queue, np.ones((8, 8), "float32"), "F")
    square = in_buffer(whole, (8, 8))

    for c, a, b, name in (
        (square, square, ones, "a"),
        (square, ones, square, "b"),
        (square, in_buffer(whole, (8, 8), 252), ones, "a"),
        (in_buffer(whole, (8, 8), 252), square, ones, "a"),
        (in_buffer(whole, (8, 8), leading=16), in_buffer(whole, (8, 8), 28, 16), ones, "a"),
        (square, ones, in_buffer(front, (8, 8)), "b"),
        (in_buffer(front, (8, 8), 4096), in_buffer(back, (8, 8)), ones, "a"),
    ):
        with pytest.raises(GemmError, match=f"^sgemm_nn: c must not share memory with {name}, "):
            tuned.gemm(queue, a, b, c)


def test_blocks_of_one_buffer_that_share_no_element_are_taken(
    queue: cl.CommandQueue, naive_kernel: Write
) -> None:
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)
    rng = np.random.default_rng(8)
    whole = cl_array.to_device(queue, matrix(rng, (48, 16)))  # 16 rows, column by column
    buffer = cast(cl.Buffer, whole.base_data)
    front, back = buffer.get_sub_region(0, 1024), buffer.get_sub_region(1024, 1024)

    for c, a in (
        (in_buffer(buffer, (8, 8), 0, 16), in_buffer(buffer, (8, 8), 32, 16)),  # row by row
        (in_buffer(buffer, (8, 8), 0), in_buffer(buffer, (8, 8), 256)),
        (in_buffer(front, (8, 8)), in_buffer(back, (8, 8))),
        (in_buffer(back, (8, 8)), in_buffer(buffer, (8, 8))),
    ):
        values = get(a)
        b = on_device(queue, matrix(rng, (8, 8)), "F")
        _, event = tuned.gemm(queue, a, b, c)
        event.wait()
        np.testing.assert_allclose(get(c), values @ get(b), rtol=1e-5, atol=1e-5)


def test_shared_virtual_memory_is_checked_too(queue: cl.CommandQueue, naive_kernel: Write) -> None:
    allocator = SVMAllocator(
        queue.context, alignment=0, flags=cl.svm_mem_flags.READ_WRITE, queue=queue
    )
    ones = np.ones((4, 4), "float32", order="F")
    a, b, c = (cl_array.to_device(queue, ones, allocator=allocator) for _ in range(3))
    tuned = launcher(gemm(Precision.SINGLE), naive_kernel)

    tuned.gemm(queue, a, b, c)
    assert (c.get() == 4).all()

    with pytest.raises(GemmError, match="c must not share memory with a"):
        tuned.gemm(queue, a, b, a)
