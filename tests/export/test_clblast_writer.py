"""CLBlast's functions, computed by tuned kernels."""

import ctypes
import ctypes.util
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from mltune.export import SET_WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.problem import problem_type_name
from mltune.problem.calls import parse_problem_types
from tests.export.conftest import FAILING
from tests.set_calls import DTYPES

Make = Callable[..., Library]
TYPES = ("sgemm_nn", "sgemm_tt_batched", "cgemm_nc", "hgemm_nt")
ALL_TYPES = tuple(map(problem_type_name, parse_problem_types("sgemm,dgemm,cgemm,zgemm,hgemm")))
ROW, COLUMN, NO, YES, CONJUGATE = 101, 102, 111, 112, 113
CALLED = re.compile(
    r"(_ZN7clblast(4Gemm|11GemmBatched|18GemmStridedBatched)I(f|d|t|St7complexI[fd]E)E"
    r"|CLBlast[SDCZH]gemm(|Batched|StridedBatched|WithTempBuffer)$)"
)
NEEDS = ("make", "c++", "nm", "readelf")
FIRST_CASES = 12
"""The number of CLBlast's own tests that run; all of them take minutes on PoCL."""


class _Float2(ctypes.Structure):
    _fields_ = (("x", ctypes.c_float), ("y", ctypes.c_float))


def _symbols(library: str | Path) -> Iterator[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return (line.split()[-1] for line in listed.splitlines())


@pytest.fixture(scope="session")
def build(
    tiled: Make,
    compile_opencl: object,  # skips where there are no headers
    opencl_loader: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Path]:
    """Make a library that takes CLBlast's place, with warnings as errors."""
    for tool in NEEDS:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")

    def build(types: Iterable[str], linker_flags: str = "") -> Path:
        folder = tmp_path_factory.mktemp("clblast")
        libraries = LibrarySet("mltune", tuple(tiled(each) for each in types))
        SET_WRITERS["clblast"].write(libraries, folder)
        linked = f"OPENCL_LIB={opencl_loader} -Wl,-rpath,{opencl_loader.parent}"
        done = subprocess.run(
            ["make", "CFLAGS=-O1 -Werror", "CXXFLAGS=-O1 -Werror -Wshadow -Wconversion", linked,
             f"LDFLAGS={linker_flags}"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return folder / "libmltune_clblast.so"

    return build


@pytest.fixture(scope="session")
def built(build: Callable[..., Path]) -> Path:
    """A library in CLBlast's place, of a few problem types."""
    return build(TYPES)


@pytest.fixture(scope="session")
def failing(build: Callable[..., Path]) -> Path:
    """The same library, whose launches can be made to fail."""
    return build(TYPES, f"-fPIC -x c {FAILING} -x none -Wl,--wrap=clEnqueueNDRangeKernel")


@pytest.fixture(scope="session")
def built_for_all(build: Callable[..., Path]) -> Path:
    """A library in CLBlast's place, of all problem types that CLBlast's tests call."""
    return build(ALL_TYPES)


@pytest.fixture(scope="session")
def real() -> str:
    """The real CLBlast."""
    name = ctypes.util.find_library("clblast")
    if name is None:
        pytest.skip("needs CLBlast (Debian: apt-get install libclblast1)")
    return next(
        (str(path) for path in Path("/usr/lib").glob(f"*/{name}")),
        name,
    )


def test_a_program_that_links_it_keeps_its_name_not_its_path(built: Path) -> None:
    listed = subprocess.run(["readelf", "-d", built], capture_output=True, text=True, check=True)

    assert "[libmltune_clblast.so]" in listed.stdout


@pytest.mark.long
def test_it_has_the_functions_of_clblast_by_their_names_and_no_others(
    built: Path, real: str
) -> None:
    own = set(_symbols(built))

    assert {name for name in own if CALLED.match(name)} == {
        name for name in _symbols(real) if CALLED.match(name)
    }
    assert [name for name in own if not CALLED.match(name)] == ["mltune_clblast_counts"]


def _counts(library: ctypes.CDLL) -> tuple[int, int]:
    tuned, forwarded = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    library.mltune_clblast_counts(ctypes.byref(tuned), ctypes.byref(forwarded))
    return tuned.value, forwarded.value


def _factor(precision: str, value: float) -> Any:
    if precision == "c":
        return _Float2(value, 0)
    return ctypes.c_uint16(int(np.float16(value).view(np.uint16))) if precision == "h" else (
        ctypes.c_float(value) if precision == "s" else ctypes.c_double(value)
    )  # fmt: skip


class _Products:
    """Random matrices of a batch in buffers, and their products."""

    def __init__(
        self, queue: cl.CommandQueue, rng: random.Random, precision: str, order: int,
        trans: tuple[int, int], sizes: tuple[int, int, int], batch: int,
    ) -> None:  # fmt: skip
        m, n, k = sizes
        source = np.random.default_rng(rng.getrandbits(32))
        dtype = np.dtype(DTYPES[precision])
        shapes = ((m, k), (k, n), (m, n))
        turns = (trans[0] != NO, trans[1] != NO, False)
        stored, self.lds = [], []
        for shape, turned in zip(shapes, turns, strict=True):
            x = source.standard_normal((batch, *(shape[::-1] if turned else shape))).astype(dtype)
            if precision == "c":
                x = (x + 1j * source.standard_normal(x.shape)).astype(dtype)
            stored.append(x)
            self.lds.append(x.shape[2] if order == ROW else x.shape[1])
        self.order, self.batch, self.sizes, self.trans = order, batch, sizes, trans
        self.queue, self.dtype, self.shape = queue, dtype, stored[2].shape
        packed = [x if order == ROW else x.swapaxes(1, 2) for x in stored]
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.buffers = [
            cl.Buffer(queue.context, flags, hostbuf=np.ascontiguousarray(x)) for x in packed
        ]
        self.strides = [x[0].size for x in packed]
        wide = np.result_type(dtype, np.float64)
        a, b, self.c = (x.astype(wide) for x in stored)
        self.a, self.b = (
            x if how == NO else x.swapaxes(1, 2) if how == YES else x.swapaxes(1, 2).conj()
            for x, how in zip((a, b), trans, strict=True)
        )

    def check(self, alpha: list[float], beta: list[float]) -> None:
        rows, columns = self.shape[1:]
        packed = (rows, columns) if self.order == ROW else (columns, rows)
        result = np.empty((self.batch, *packed), self.dtype)
        cl.enqueue_copy(self.queue, result, self.buffers[2])
        result = result if self.order == ROW else result.swapaxes(1, 2)
        alphas, betas = (np.array(x).reshape(-1, 1, 1) for x in (alpha, beta))
        bound = 100 * np.finfo(self.dtype).eps if self.dtype != np.float16 else 0.02
        np.testing.assert_allclose(
            result, alphas * (self.a @ self.b) + betas * self.c, rtol=bound, atol=bound
        )


def _call(
    library: ctypes.CDLL,
    kind: str,
    precision: str,
    products: _Products,
    factors: tuple[list[float], list[float]],
    event: ctypes.c_void_p,
) -> int:
    """Call CLBlast's function of a kind for all the products, and return its code."""
    batch, held = products.batch, ctypes.c_void_p(products.queue.int_ptr)
    given: list[Any] = [products.order, *products.trans, *map(ctypes.c_size_t, products.sizes)]
    for index, place in enumerate((0, 0, 1)):
        if index != 1:
            each = [_factor(precision, x) for x in factors[place]]
            given.append((type(each[0]) * batch)(*each) if kind == "Batched" else each[0])
        stride = products.strides[index]
        offsets = (ctypes.c_size_t * batch)(*(i * stride for i in range(batch)))
        given.append(ctypes.c_void_p(products.buffers[index].int_ptr))
        given.append(offsets if kind == "Batched" else ctypes.c_size_t(0))
        given.append(ctypes.c_size_t(products.lds[index]))
        given += [ctypes.c_size_t(stride)] if kind == "StridedBatched" else []
    given += [ctypes.c_size_t(batch)] if "Batched" in kind else []
    given += [ctypes.byref(held), ctypes.byref(event)]
    given += [None] if kind == "WithTempBuffer" else []
    code: int = getattr(library, f"CLBlast{precision.upper()}gemm{kind}")(*given)
    return code


KINDS = ("", "WithTempBuffer", "StridedBatched", "Batched")
HELD = (
    ("s", COLUMN, (NO, NO)), ("s", ROW, (NO, NO)), ("s", ROW, (YES, YES)),
    ("s", COLUMN, (CONJUGATE, YES)), ("c", COLUMN, (NO, CONJUGATE)), ("c", ROW, (CONJUGATE, NO)),
    ("h", COLUMN, (NO, YES)),
)  # fmt: skip
# Plain products only: PoCL takes minutes to build CLBlast's kernels for batches.
NOT_HELD = tuple(
    (kind, "s", order, trans)
    for kind in KINDS[:2]
    for order, trans in ((COLUMN, (NO, YES)), (ROW, (YES, NO)))
)


@pytest.mark.parametrize(
    ("kind", "precision", "order", "trans"),
    [*((kind, *case) for kind in KINDS for case in HELD), *NOT_HELD],
)
def test_calls_give_what_numpy_gives(
    kind: str,
    precision: str,
    order: int,
    trans: tuple[int, int],
    built: Path,
    real: str,
    queue: cl.CommandQueue,
) -> None:
    del real  # it computes what the library lacks
    library = ctypes.CDLL(str(built))
    is_held = (kind, precision, order, trans) not in NOT_HELD
    batch = 3 if "Batched" in kind else 1
    rng = random.Random(f"{kind} {precision} {order} {trans}")
    products = _Products(queue, rng, precision, order, trans, (33, 20, 17), batch)
    before = _counts(library)
    alpha, beta = [1.5] * batch, [-0.5] * batch
    if kind == "Batched":
        alpha = [1.5, -1.0, 2.0]
    event = ctypes.c_void_p()

    code = _call(library, kind, precision, products, (alpha, beta), event)

    assert code == 0
    cl.Event.from_int_ptr(event.value or 0, retain=False).wait()
    products.check(alpha, beta)
    tuned, forwarded = (now - then for now, then in zip(_counts(library), before, strict=True))
    assert (tuned, forwarded) == ((1, 0) if is_held else (0, 1))


@pytest.mark.parametrize("trans", [(NO, NO), (YES, YES)])
@pytest.mark.parametrize(
    ("kind", "alpha"),
    [("", [1.5]), ("StridedBatched", [1.5] * 3), ("Batched", [1.5] * 3), ("Batched", [1, 2, 3])],
)
def test_a_call_that_fails_half_way_is_not_computed_again(
    kind: str,
    trans: tuple[int, int],
    alpha: list[float],
    failing: Path,
    real: str,
    queue: cl.CommandQueue,
) -> None:
    del real
    library = ctypes.CDLL(str(failing))
    factors, rng = (alpha, [-0.5] * len(alpha)), random.Random(1)
    left = ctypes.c_int.in_dll(library, "launches_left")
    before = _counts(library)

    for launches in range(1, 30):
        left.value = launches
        event = ctypes.c_void_p()
        products = _Products(queue, rng, "s", COLUMN, trans, (33, 20, 17), len(alpha))
        code = _call(library, kind, "s", products, factors, event)
        if code == 0:
            break
        assert code == cl.status_code.OUT_OF_RESOURCES
        queue.finish()

    assert launches > 2
    cl.Event.from_int_ptr(event.value or 0, retain=False).wait()
    products.check(*factors)
    tuned, forwarded = (now - then for now, then in zip(_counts(library), before, strict=True))
    assert (tuned, forwarded) == (1, 0)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_call_that_fails_before_it_begins_is_computed_by_clblast(
    kind: str, failing: Path, real: str, queue: cl.CommandQueue
) -> None:
    del real
    library = ctypes.CDLL(str(failing))
    products = _Products(queue, random.Random(1), "s", COLUMN, (NO, NO), (33, 20, 17), 1)
    ctypes.c_int.in_dll(library, "launches_left").value = 0
    before, event = _counts(library), ctypes.c_void_p()

    assert _call(library, kind, "s", products, ([1.5], [-0.5]), event) == 0

    cl.Event.from_int_ptr(event.value or 0, retain=False).wait()
    products.check([1.5], [-0.5])
    assert _counts(library) == (before[0], before[1] + 1)


def test_wrong_arguments_are_answered_by_clblast(
    built: Path, real: str, queue: cl.CommandQueue
) -> None:
    del real
    library = ctypes.CDLL(str(built))
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 400)
    memory, held = ctypes.c_void_p(buffer.int_ptr), ctypes.c_void_p(queue.int_ptr)
    size, one = ctypes.c_size_t, ctypes.c_float(1)
    right = [
        COLUMN, NO, NO, size(10), size(10), size(10), one, memory, size(0), size(10), memory,
        size(0), size(10), one, memory, size(0), size(10), ctypes.byref(held), None,
    ]  # fmt: skip
    wrong = {3: (size(0), -1017), 9: (size(9), -1016), 11: (size(1), -1010), 16: (size(9), -1014)}

    assert library.CLBlastSgemm(*right) == 0
    for place, (value, code) in wrong.items():
        assert library.CLBlastSgemm(*right[:place], value, *right[place + 1 :]) == code, place
    strided = [x for i, x in enumerate(right) for x in ([x, size(0)] if i in (9, 12, 16) else [x])]
    strided.insert(-2, size(0))
    assert library.CLBlastSgemmStridedBatched(*strided) == -2049  # no products


CALLER = """
import ctypes, sys
import pyopencl as cl
library = ctypes.CDLL(sys.argv[1])
platform = next(p for p in cl.get_platforms() if p.name == sys.argv[2])
queue = cl.CommandQueue(cl.Context(platform.get_devices()[:1]))
buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 400)
memory = ctypes.c_void_p(buffer.int_ptr)
size, one, held = ctypes.c_size_t, ctypes.c_float(1), ctypes.c_void_p(queue.int_ptr)
def call(order, trans_a, trans_b, m):
    library.CLBlastSgemm(
        order, trans_a, trans_b, size(m), size(10), size(10), one, memory, size(0), size(10),
        memory, size(0), size(10), one, memory, size(0), size(10), ctypes.byref(held), None)
call(102, 111, 111, 10)
call(102, 111, 112, 10)
call(101, 112, 111, 10)
call(101, 111, 113, 10)
call(102, 111, 111, 0)
queue.finish()  # PoCL crashes where a process ends while it compiles
"""


def test_the_report_says_why_calls_were_clblast_s(
    built: Path, real: str, opencl_environment: dict[str, str], device_spec: str
) -> None:
    del real
    done = subprocess.run(
        [sys.executable, "-c", CALLER, str(built), device_spec],
        capture_output=True, text=True, check=True,
        env={**opencl_environment, "MLTUNE_CLBLAST_REPORT": "1"},
    )  # fmt: skip

    assert [line for line in done.stderr.splitlines() if line.startswith("mltune: ")] == [
        "mltune: 1 calls of GEMM had tuned kernels, 4 CLBlast's",
        "mltune: 3 of CLBlast's: problem types that this library lacks: sgemm_nt sgemm_tn",
        "mltune: 1 of CLBlast's: wrong or empty arguments",
    ]


def test_the_first_cases_of_the_tests_of_clblast_are_right(
    built: Path, opencl_environment: dict[str, str]
) -> None:
    if shutil.which("clblast_test_xgemm") is None:
        pytest.skip("needs CLBlast's tests (Debian: clblast-tests)")
    words = ["clblast_test_xgemm", "-cblas", "1", "-clblas", "0"]
    with subprocess.Popen(
        ["stdbuf", "-o0", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**opencl_environment, "LD_PRELOAD": str(built)},
    ) as process:
        assert process.stdout is not None
        said = ""
        while len(_cases(said)) < FIRST_CASES and (letter := process.stdout.read(1)):
            said += letter
        process.kill()

    # A colon is a right result, a dash a size that plain BLAS refuses, too.
    assert set(_cases(said)) == {":", "-"}, said


def _cases(said: str) -> str:
    """The result letters after the headline of the first combination of options."""
    results = re.search(r"'regular behaviour'[^\n]*\n(.*)", said, re.S)
    return re.sub(r"\x1b(\[\d*m?)?|\s", "", results[1]) if results else ""


@pytest.mark.skipif(
    os.environ.get("MLTUNE_CLBLAST_TESTS") != "1",
    reason="some minutes; MLTUNE_CLBLAST_TESTS=1 runs CLBlast's own tests (Debian: clblast-tests)",
)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "routine", ["xgemm", "xgemmbatched", "xgemmstridedbatched", "xsymm", "xtrmm"]
)
def test_the_tests_of_clblast_pass(
    routine: str, built_for_all: Path, opencl_environment: dict[str, str]
) -> None:
    done = subprocess.run(  # in all precisions: these programs take no option for one
        [f"clblast_test_{routine}", "-cblas", "1", "-clblas", "0"],
        capture_output=True, text=True, check=False,
        env={**opencl_environment, "LD_PRELOAD": str(built_for_all), "MLTUNE_CLBLAST_REPORT": "1"},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert re.findall(r"(\d+) test\(s\) failed", done.stdout), done.stdout
    served = re.search(r"mltune: [1-9]\d* calls of GEMM had tuned kernels", done.stderr)
    assert bool(served) == ("gemm" in routine)  # the others are CLBlast's own
