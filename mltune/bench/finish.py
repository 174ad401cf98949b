"""The kernel of the epilogue for a library without epilogues: bias and activation, in place.

One text for OpenCL C and CUDA C++. Each work-item takes up to four neighbours of a column, with
one wide load and store, so that the memory's bandwidth limits its speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.bench.contestant import CannotComputeError
from mltune.bench.task import Task
from mltune.problem import Activation

NAME = "finish"
GROUP = 256
"""Work-items of a work-group, along the rows."""

MOST_COLUMNS = 32768
"""Most work-groups along the columns; a CUDA grid has at most 65,535. Each processes several
columns.
"""

_OPENCL = """
#define KERNEL __kernel
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define ROW get_global_id(0)
#define COLUMN get_global_id(1)
#define COLUMNS_AT_ONCE get_global_size(1)
#define FROM_HALF(x) vload_half(0, (const half *)&(x))
#define TO_HALF(x, v) vstore_half(v, 0, (half *)&(x))
"""
_CUDA = """
#define KERNEL extern "C" __global__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define ROW ((unsigned long)blockIdx.x * blockDim.x + threadIdx.x)
#define COLUMN blockIdx.y
#define COLUMNS_AT_ONCE gridDim.y
typedef unsigned long ulong;
typedef unsigned short ushort;
static __device__ float from_half(const ushort x)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(x));
    return v;
}
static __device__ ushort to_half(const float v)
{
    ushort x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(v));
    return x;
}
#define FROM_HALF(x) from_half(x)
#define TO_HALF(x, v) (x) = to_half(v)
"""
_SOURCE = """
typedef struct { STORED v[WIDTH]; } ALIGNED(sizeof(STORED) * WIDTH) pack;

KERNEL void finish(
        GLOBAL pack *c, const GLOBAL STORED *bias,
        const ulong rows, const ulong columns, const REAL low, const REAL high)
{
    const ulong row = ROW * WIDTH;
    if (row >= rows)
        return;
    for (ulong column = COLUMN; column < columns; column += COLUMNS_AT_ONCE) {
        pack taken = c[(column * rows + row) / WIDTH];
        for (int e = 0; e < WIDTH; ++e) {
            STORED added = BIAS;
            REAL x = READ(taken.v[e]) + READ(added);
            WRITE(taken.v[e], ACTIVATED);
        }
        c[(column * rows + row) / WIDTH] = taken;
    }
}
"""
_ACTIVATED = {
    Activation.NONE: "x",
    Activation.RELU: "x < 0 ? 0 : x",
    Activation.GELU: "(REAL)0.5 * x * erfc(x * (REAL)-0.70710678118654752440)",
    Activation.SILU: "x / (1 + exp(-x))",
    Activation.CLAMP: "x < low ? low : x > high ? high : x",
}
_TYPES = {"float16": ("ushort", "float"), "float32": ("float",) * 2, "float64": ("double",) * 2}


@dataclass(frozen=True, slots=True)
class FinishKernel:
    """The kernel for one task.

    Attributes:
        task: the columns of all its products form one matrix, as C is packed.

    Raises:
        CannotComputeError: for complex numbers.
    """

    task: Task

    def __post_init__(self) -> None:
        if self.task.dtype.name not in _TYPES:
            raise CannotComputeError("no library adds a bias to complex numbers")

    @property
    def width(self) -> int:
        """Elements of each column per work-item."""
        return next(width for width in (4, 2, 1) if self.task.m % width == 0)

    @property
    def opencl(self) -> str:
        """The source in OpenCL C."""
        return _OPENCL + self._body

    @property
    def cuda(self) -> str:
        """The source in CUDA C++."""
        return _CUDA + self._body

    @property
    def columns(self) -> int:
        """The number of columns of all products."""
        return self.task.n * self.task.batch

    @property
    def groups(self) -> tuple[int, int]:
        """The numbers of work-groups along rows and columns."""
        rows = -(-self.task.m // (self.width * GROUP))
        return rows, min(self.columns, MOST_COLUMNS)

    @property
    def _body(self) -> str:
        stored, real = _TYPES[self.task.dtype.name]
        half = stored == "ushort"
        bias = {True: "bias[row + e]", False: f"bias[column % {self.task.n}]", None: "0"}
        definitions = {
            "STORED": stored,
            "REAL": real,
            "WIDTH": str(self.width),
            "READ(x)": "FROM_HALF(x)" if half else "(x)",
            "WRITE(x, v)": "TO_HALF(x, v)" if half else "(x) = (v)",
            "BIAS": bias[self.task.bias_along_rows],
            "ACTIVATED": f"({_ACTIVATED[self.task.problem.contraction.epilogue.activation]})",
        }
        lines = [f"#define {name} {text}\n" for name, text in definitions.items()]
        return "".join(lines) + _SOURCE
