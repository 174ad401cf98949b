"""Writes a Python package: selection, kernel sources and launch code, on numpy and pyopencl."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mltune.export.expression import EXTENT_NAMES
from mltune.export.files import write_files
from mltune.export.library import Library
from mltune.export.plain import plain_paragraphs
from mltune.export.python import selection
from mltune.export.python.text import DIALECT, literal
from mltune.export.statement import statement
from mltune.export.template import fill
from mltune.kernel import Kernel, Pass
from mltune.kernel.abi import Argument, Kind, arguments
from mltune.kernel.two_step_build import needs_two_steps
from mltune.problem import bias_side
from mltune.selector import Selector
from mltune.space.expression import Node, names

_TEMPLATES = Path(__file__).parent / "templates"
_RUNTIME = Path(__file__).parents[2] / "runtime"
_LAUNCH = ("launch.py", "placement.py", "built_kernels.py", "building.py", "gemm_kernel.py")
"""These files need numpy, pyopencl and each other, and go into every package."""

_TURNED = ".transpose((0, 2, 1))"
_PACKED = f"""

    A batch of Fortran-ordered products is contiguous in neither of numpy's orders, which `c.get()`
    asks for: `c{_TURNED}.get(){_TURNED}` gives its numbers."""

_SIDES = {"m": "row", "n": "column"}
_PLAIN_NAMES = 2  # alpha and beta: with more, the call takes several lines

_LINE = 99  # characters, as in mltune's own files


class PythonWriter:
    """Writes a package that needs numpy and pyopencl only."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "python"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the package and what pip needs to install it; see `Writer.write`."""
        library = Library.of(selector, kernels)
        package = library.name
        templates = {
            "README.md": "README.md.in",
            "pyproject.toml": "pyproject.toml.in",
            f"{package}/__init__.py": "__init__.py.in",
            f"{package}/selection.py": "selection.py.in",
            f"{package}/tuned.py": "tuned.py.in",
            f"{package}/kernels.py": "kernels.py.in",
        }
        values = _values(library)
        texts = {file: fill(_TEMPLATES / name, values) for file, name in templates.items()}
        for name in _LAUNCH:
            text = (_RUNTIME / name).read_text(encoding="utf-8")
            texts[f"{package}/{name}"] = text.replace("mltune.runtime.", ".")
        texts[f"{package}/py.typed"] = ""
        for kernel in library.kernels:
            texts[f"{package}/opencl/{kernel.name}.cl"] = kernel.source
        return write_files(out, texts)


def _values(library: Library) -> dict[str, str]:
    contraction = library.selector.contraction
    conjugate = (contraction.conjugate_a, contraction.conjugate_b)
    return {
        "library": library.name,
        "distribution": library.name.replace("_", "-"),
        "problem_type": library.problem_type,
        "statement": plain_paragraphs(statement(library)),
        "exact": selection.exact_sizes(library.selector),
        "compared": selection.compared_kernels(library.selector),
        "body": selection.body(library.selector),
        "kernels": "\n".join(_kernel(kernel) for kernel in library.kernels),
        "arguments": "\n".join(f"    {literal(each.word)}," for each in _common(library)),
        "integers": _integers(library),
        "dtype": contraction.precision.dtype,
        "orders": library.orders,
        "batched": str(library.batched),
        "conjugate": str(conjugate),
        "result": _result(library, conjugate),
        **_epilogue(library),
        "layouts": "\n".join(f"    - {layout}" for layout in _layouts(library, conjugate)),
        "lead": "batch x " * library.batched,
        "ones_a": _ones(library, 0, 100, 300),
        "ones_b": _ones(library, 1, 300, 200),
        "got": _got(library),
        "packed": _PACKED if _is_strided(library) else "",
    }


def _result(library: Library, conjugate: tuple[bool, bool]) -> str:
    """Return the new c as a Python expression, in words."""
    operands = [
        f"conj({x})" if conjugated else x for x, conjugated in zip("ab", conjugate, strict=True)
    ]
    return library.finished(f"alpha * {' @ '.join(operands)} + beta * c", "bias")


def _epilogue(library: Library) -> dict[str, str]:
    """Return the epilogue's part of the function's text; empty without one."""
    contraction = library.selector.contraction
    types, parameters, docs, names = "", "", "", ["alpha", "beta"]
    bias_example, example = "", ""
    if side := bias_side(contraction):
        types += f"        bias={literal(side)},\n"
        parameters += "    bias: cl_array.Array,\n"
        docs += (
            f"        bias: {side} numbers, one for each {_SIDES[side]} of c, contiguous. It "
            "shares no element with c.\n"
        )
        names.append("bias")
        count, dtype = {"m": 100, "n": 200}[side], contraction.precision.dtype
        array = f'numpy.ones({count}, "{dtype}")'
        bias_example = f"bias = pyopencl.array.to_device(queue, {array})\n"
        example += ", bias=bias"
    if contraction.epilogue.clamps:
        types += "        clamps=True,\n"
        parameters += "    low: float,\n    high: float,\n"
        docs += "        low: the lower limit of the results.\n        high: the upper one.\n"
        names += ["low", "high"]
        example += ", low=0, high=6"
    given = ["queue, a, b, c", *(f"{name}={name}" for name in (*names, "kernel", "wait_for"))]
    passed = ", ".join(given)
    if len(names) > _PLAIN_NAMES:
        passed = f"\n        {f',{chr(10)}        '.join(given)},\n    "
    return {
        "epilogue_type": types,
        "epilogue_parameters": parameters,
        "epilogue_docs": docs,
        "passed": passed,
        "bias_example": bias_example,
        "epilogue_example": example,
    }


def _layouts(library: Library, conjugate: tuple[bool, bool]) -> list[str]:
    """Return the memory orders that the kernels support, in words."""
    words = {"F": "Fortran-ordered", "C": "C-ordered"}
    a, b, c = (words[order] for order in library.orders)
    layouts = [f"a {a}, b {b}, c {c}, which is what was tuned"]
    if conjugate[0] == conjugate[1] and not bias_side(
        library.selector.contraction
    ):  # then C^T = B^T A^T needs the same kernels
        other = {"Fortran-ordered": "C-ordered", "C-ordered": "Fortran-ordered"}
        layouts.append(f"a {other[b]}, b {other[a]}, c {other[c]}")
    return layouts


def _ones(library: Library, operand: int, rows: int, columns: int) -> str:
    """Return an expression for an array in the memory order that was tuned."""
    transposed = library.orders[operand] == "F"
    shape = (columns, rows) if transposed else (rows, columns)
    dtype = library.selector.contraction.precision.dtype
    if not library.batched:
        turned = ".T" * transposed
        return f'pyopencl.array.to_device(queue, numpy.ones({shape}, "{dtype}")){turned}'
    turned = _TURNED * transposed
    return f'pyopencl.array.to_device(queue, numpy.ones({(4, *shape)}, "{dtype}")){turned}'


def _is_strided(library: Library) -> bool:
    """Whether numpy has no name for the order of the tuned C: column-major products of a batch."""
    return library.batched and library.orders[2] == "F"


def _got(library: Library) -> str:
    """Return an expression for the result as a numpy array."""
    return f"c{_TURNED}.get(){_TURNED}" if _is_strided(library) else "c.get()"


def _integers(library: Library) -> str:
    """Return body and arguments of a function for the integers that all kernels take."""
    computed = [each.value for each in _common(library) if each.value is not None]
    given = list(dict.fromkeys(name for value in computed for name in sorted(names(value))))
    values = ",\n        ".join(map(_text, computed))
    parameters = "".join(f"    {EXTENT_NAMES.get(name, name)}: int,\n" for name in given)
    return (
        f"def _integers(\n    *,\n{parameters}) -> tuple[int, ...]:\n"
        f"    return (\n        {values},\n    )"
    )


def _common(library: Library) -> tuple[Argument, ...]:
    """Return the arguments that all kernels take."""
    return arguments(library.selector.contraction.canonical(), scratch=False, counters=False)


def _kernel(kernel: Kernel) -> str:
    options = ", ".join(map(literal, kernel.build_options))
    options += "," * (len(kernel.build_options) == 1)
    memories = [
        literal(each.word)
        for each in kernel.arguments
        if each.kind in (Kind.SCRATCH, Kind.COUNTERS)
    ]
    geometry = kernel.geometry
    sizes = [_global_size(size) for size in geometry.global_sizes]
    others = [_text(node) for node in (geometry.scratch_bytes, geometry.counter_bytes)]
    return "\n".join(
        (
            "    _kernel(",
            f"        {literal(kernel.name)},",
            f"        build_options=({options}),",
            *_tuple("passes", [_entry(each) for each in kernel.passes]),
            "        geometry=lambda rows, columns, terms, batch, units: (",
            *_items("            ", "", sizes),
            *(f"            {text}," for text in others),
            "        ),",
            *_tuple("memories", memories),
            *["        counts_units=True,"] * geometry.counts_units,
            *["        two_steps=True,"] * needs_two_steps(kernel.source),
            "    ),",
        )
    )


def _entry(each: Pass) -> str:
    return f"({literal(each.entry)}, {each.work_group})"


def _global_size(sizes: tuple[Node, Node, Node]) -> str:
    return f"({', '.join(map(_text, sizes))})"


def _text(node: Node) -> str:
    return DIALECT.text(node, EXTENT_NAMES)


def _tuple(name: str, items: list[str]) -> list[str]:
    """Return the lines of a keyword argument, none for an empty tuple."""
    return _items("        ", f"{name}=", items) if items else []


def _items(pad: str, head: str, items: list[str]) -> list[str]:
    """Return the lines of a tuple."""
    in_one = f"{pad}{head}({', '.join(items)},),"
    if len(items) == 1 and len(in_one) <= _LINE:
        return [in_one]
    return [f"{pad}{head}(", *(f"{pad}    {item}," for item in items), f"{pad}),"]
