"""Writes the kernels of the family `tiled`: names and numbers for the templates beside it."""

from __future__ import annotations

import math
from pathlib import Path
from string import Template

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.kernel import Kernel
from mltune.kernel.name import kernel_name
from mltune.problem import Contraction, Precision
from mltune.space.config import Config

PARAMETERS = (
    "work_group_0",
    "work_group_1",
    "thread_tile_0",
    "thread_tile_1",
    "depth_u",
    "vector_width",
    "prefetch_global_read",
    "local_pad",
    "loop_unroll",
    "work_group_mapping",
    "multiply_add",
    "vector_access",
)
_TYPES = {Precision.SINGLE: "float", Precision.DOUBLE: "double"}
_VECTOR_WIDTHS = (1, 2, 4, 8, 16)
_MULTIPLY_ADD = {"expr": "(x) * (y) + (z)", "fma": "fma(x, y, z)", "mad": "mad(x, y, z)"}
_VECTOR_ACCESS = ("cast", "vload")
_FOLDER = Path(__file__).parent


class TiledFamily:
    """GEMM with local-memory tiles, register tiles, vector access and prefetch.

    Writes single and double precision, all transposes, with or without one batch index.
    """

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "tiled"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        _check(canonical, config)
        name = kernel_name(canonical, config)
        definitions = _definitions(name, canonical, config)
        operand = Template((_FOLDER / "operand.cl").read_text(encoding="utf-8"))
        source = "\n".join(
            (
                f"/* {name} */",
                *(f"#define {key} {value}" for key, value in definitions),
                "#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])",
                "",
                operand.substitute(X="A", x="a"),
                operand.substitute(X="B", x="b"),
                (_FOLDER / "tiled.cl").read_text(encoding="utf-8"),
            )
        )
        if canonical.precision is Precision.DOUBLE:
            source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + source
        work_group = (config.int("work_group_0"), config.int("work_group_1"), 1)
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=source,
            build_options=("-cl-std=CL1.2",),
            work_group=work_group,
            macro_tile=(
                work_group[0] * config.int("thread_tile_0"),
                work_group[1] * config.int("thread_tile_1"),
            ),
        )


def _check(contraction: Contraction, config: Config) -> None:
    if contraction.precision not in _TYPES:
        raise UnsupportedError(
            "kernel family tiled writes single and double, got "
            + contraction.precision.name.lower().replace("_", " ")
        )
    if not contraction.is_gemm:
        raise UnsupportedError(
            "kernel family tiled writes GEMM (one free index each, one summation, at most one "
            f"batch index last), got {contraction.name}"
        )
    if unknown := sorted(set(config) - set(PARAMETERS)):
        raise UsageError(
            f"kernel family tiled: unknown parameter '{unknown[0]}' "
            f"(known: {', '.join(PARAMETERS)})"
        )
    for parameter in (*PARAMETERS[:5], "loop_unroll", "work_group_mapping"):
        _require(config.int(parameter) >= 1, parameter, "at least 1", config)
    width = config.int("vector_width")
    _require(width in _VECTOR_WIDTHS, "vector_width", "1, 2, 4, 8 or 16", config)
    _require(
        config.int("prefetch_global_read") in (0, 1), "prefetch_global_read", "0 or 1", config
    )
    _require(config.int("local_pad") >= 0, "local_pad", "at least 0", config)
    _require(
        config.word("multiply_add") in _MULTIPLY_ADD,
        "multiply_add",
        " or ".join(_MULTIPLY_ADD),
        config,
    )
    _require(
        config.word("vector_access") in _VECTOR_ACCESS,
        "vector_access",
        " or ".join(_VECTOR_ACCESS),
        config,
    )
    tile = config.int("thread_tile_0")
    _require(tile % width == 0, "thread_tile_0", f"a multiple of vector_width ({width})", config)


def _require(condition: bool, parameter: str, right: str, config: Config) -> None:
    if not condition:
        raise UsageError(
            f"kernel family tiled: {parameter} must be {right}, got {config[parameter]!r}"
        )


def _definitions(
    name: str, contraction: Contraction, config: Config
) -> tuple[tuple[str, int | str], ...]:
    """The macros that the templates are written in, in the order of their dependence."""
    precision = contraction.precision
    type_name = _TYPES[precision]
    work_group = (config.int("work_group_0"), config.int("work_group_1"))
    thread_tile = (config.int("thread_tile_0"), config.int("thread_tile_1"))
    macro_tile = (work_group[0] * thread_tile[0], work_group[1] * thread_tile[1])
    threads = work_group[0] * work_group[1]
    depth_u, width, pad = (config.int(p) for p in ("depth_u", "vector_width", "local_pad"))
    width_b = _largest_width(width, thread_tile[1])
    access = config.word("vector_access")
    prefetch = config.int("prefetch_global_read")
    free_is_contiguous = {
        "A": contraction.index_assignments_a[0] in contraction.free_indices_a,
        "B": contraction.index_assignments_b[0] in contraction.free_indices_b,
    }
    definitions: list[tuple[str, int | str]] = [
        ("KERNEL_NAME", name),
        ("TYPE", type_name),
        ("WG0", work_group[0]),
        ("WG1", work_group[1]),
        ("THREADS", threads),
        ("TT0", thread_tile[0]),
        ("TT1", thread_tile[1]),
        ("MT0", macro_tile[0]),
        ("MT1", macro_tile[1]),
        ("DU", depth_u),
        ("LU", config.int("loop_unroll")),
        ("WGM", config.int("work_group_mapping")),
        ("PGR", prefetch),
        ("CASTS", int(access == "cast")),
        ("MULTIPLY_ADD(x, y, z)", _MULTIPLY_ADD[config.word("multiply_add")]),
        ("VW", width),
        ("VECTOR", _vector(type_name, width)),
        ("EDGE_UNROLL", width if width <= 4 else 1),
        ("READ_C(p)", _read("__global", type_name, width, access)),
        ("WRITE_C(v, p)", _write("__global", type_name, width, access)),
        ("VWB", width_b),
        ("VECTOR_B", _vector(type_name, width_b)),
    ]
    for operand, extent, read_width in (
        ("A", macro_tile[0], width),
        ("B", macro_tile[1], width_b),
    ):
        contiguous = extent if free_is_contiguous[operand] else depth_u
        # Wide enough to be fast, narrow enough that every work-item has a vector to load.
        share = max(1, extent * depth_u // threads)
        load_width = min(_largest_width(width, contiguous), _largest_width(16, share))
        vectors = extent * depth_u // load_width
        loads = -(-vectors // threads)
        # Prefetched vectors are registers only if their loop is unrolled altogether; a copy
        # through no registers needs just enough loads in flight, and compiles sooner.
        unroll = loads if prefetch else min(loads, 8)
        pitch = extent + pad
        # A cast needs local rows that begin where a vector may begin.
        row_access = "elements" if access == "cast" and pitch % read_width else access
        write_access = "elements" if access == "cast" and pitch % load_width else access
        definitions += [
            (f"{operand}_FREE", extent),
            (f"{operand}_FREE_IS_CONTIGUOUS", int(free_is_contiguous[operand])),
            (f"{operand}_WIDTH", load_width),
            (f"{operand}_VECTOR", _vector(type_name, load_width)),
            (f"{operand}_RUN", contiguous // load_width),
            (f"{operand}_VECTORS", vectors),
            (f"{operand}_LOADS", loads),
            (f"{operand}_UNROLL", f'_Pragma("unroll {unroll}")'),
            (f"{operand}_PITCH", pitch),
            (f"{operand}_READ(p)", _read("const __global", type_name, load_width, access)),
            (f"{operand}_WRITE(v, p)", _write("__local", type_name, load_width, write_access)),
            (
                f"READ_TILE_{operand}(p)",
                _read("const __local", type_name, read_width, row_access),
            ),
        ]
    return tuple(definitions)


def _largest_width(limit: int, extent: int) -> int:
    """The widest OpenCL vector, at most `limit` wide, that divides `extent`."""
    return max(w for w in _VECTOR_WIDTHS if w <= limit and math.gcd(w, extent) == w)


def _vector(type_name: str, width: int) -> str:
    return type_name if width == 1 else f"{type_name}{width}"


def _read(space: str, type_name: str, width: int, access: str) -> str:
    if width == 1:
        return "(*(p))"
    if access == "cast":
        return f"(*({space} {type_name}{width} *)(p))"
    if access == "vload":
        return f"vload{width}(0, p)"
    elements = ", ".join(f"(p)[{e}]" for e in range(width))
    return f"(({type_name}{width})({elements}))"


def _write(space: str, type_name: str, width: int, access: str) -> str:
    if width == 1:
        return "(*(p) = (v))"
    if access == "cast":
        return f"(*({space} {type_name}{width} *)(p) = (v))"
    if access == "vload":
        return f"vstore{width}(v, 0, p)"
    return "(" + ", ".join(f"(p)[{e}] = (v).s{e:x}" for e in range(width)) + ")"
