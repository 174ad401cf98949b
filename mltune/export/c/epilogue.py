"""The arguments, checks and texts of an epilogue in exported C; empty without an epilogue."""

from __future__ import annotations

from mltune.export.library import Library
from mltune.problem import Activation, bias_side

_SIDES = {"m": ("row", "i"), "n": ("column", "j")}
_ACTIVATIONS = {
    Activation.RELU: "x < 0 ? 0 : x",
    Activation.GELU: "0.5 * x * erfc(-0.70710678118654752440 * x)",
    Activation.SILU: "x / (1 + exp(-x))",
    Activation.CLAMP: "x < LOW ? LOW : x > HIGH ? HIGH : x",
}
_STEEPEST = 1.25  # the largest slope of an activation, by which errors before it grow

_TYPE = """\
/* What becomes of results: a bias, which is one run, and limits; what there is not is NULL. */
typedef struct epilogue {
    matrix bias;
    const void *low, *high;
} epilogue;

"""

LOW, HIGH = "-0.25", "0.75"
"""The limits of the example."""


def arguments(library: Library, factor: str) -> list[tuple[str, str]]:
    """Return type and name of the arguments that follow C's."""
    listed = []
    if bias_side(library.selector.contraction):
        listed += [("cl_mem", "bias"), ("int64_t", "offset_bias")]
    if library.selector.contraction.epilogue.clamps:
        listed += [(factor, "low"), (factor, "high")]
    return listed


def launch_values(library: Library) -> dict[str, str]:
    """Return the values for the launch code of all problem types."""
    if not arguments(library, ""):
        return {
            "epilogue_type": "",
            "epilogue_parameter": "",
            "epilogue_passed": "",
            "epilogue_member": "",
        }
    return {
        "epilogue_type": _TYPE,
        "epilogue_parameter": "const epilogue *with, ",
        "epilogue_passed": "given->with, ",
        "epilogue_member": "    const epilogue *with;\n",
    }


def kernel_argument(name: str) -> str:
    """Return the code for a kernel's argument that belongs to an epilogue; empty for others."""
    if name == "bias":
        return "{sizeof with->bias.buffer, &with->bias.buffer}"
    return f"{{factor_bytes, with->{name}}}" if name in ("low", "high") else ""


def library_values(library: Library, names: list[str], half: bool) -> dict[str, str]:
    """Return the values for the called function.

    Args:
        library: the export.
        names: of its arguments.
        half: whether factors are rounded to half.
    """
    side = bias_side(library.selector.contraction)
    clamps = library.selector.contraction.epilogue.clamps
    if not side and not clamps:
        empty = ("limits", "epilogue", "check_bias", "epilogue_given", "epilogue_words")
        return dict.fromkeys(empty, "")
    limits = "".join(f", {f'to_half({name})' if half else name}" for name in ("low", "high"))
    bias = f"{{bias, offset_bias, {side}, 1, {side}, 0}}" if side else "{NULL, 0, 0, 0, 0, 0}"
    last = "&factors[2], &factors[3]" if clamps else "NULL, NULL"
    words = ""
    if side:
        words += (
            f"\n * The bias is a buffer and an offset: {side} numbers, one for each "
            f"{_SIDES[side][0]} of C, which\n * shares no memory with C."
        )
    if clamps:
        words += "\n * Results are held between low and high."
    return {
        "limits": limits * clamps,
        "epilogue": f"    const epilogue with = {{{bias}, {last}}};\n",
        "check_bias": f"    if (!inside(&with.bias, 1, sizeof *factors))\n"
        f"        return -{names.index('bias') + 1};\n"
        if side
        else "",
        "epilogue_given": "&with, ",
        "epilogue_words": words,
    }


def checks(names: list[str]) -> dict[str, str]:
    """Return the conditions under which an argument is wrong."""
    tests = {"offset_bias": "offset_bias < 0", "high": "!(low <= high)"}
    return {name: test for name, test in tests.items() if name in names}


def passed(library: Library) -> list[str]:
    """Return the example's arguments."""
    bias = ["bias", "0"] if bias_side(library.selector.contraction) else []
    limits = [LOW, HIGH] if library.selector.contraction.epilogue.clamps else []
    return bias + limits


def example_values(library: Library, widen: str) -> dict[str, str]:
    """Return the values for the example.

    Args:
        library: the export.
        widen: converts an element to the type of the check.
    """
    contraction = library.selector.contraction
    side, activation = bias_side(contraction), contraction.epilogue.activation
    values = dict.fromkeys(
        ("bias_member", "bias_buffer", "bias_release", "bias_fill", "bias_free", "finish",
         "expected_bias", "activate", "activation"), "",
    )  # fmt: skip
    if side:
        index = _SIDES[side][1]
        values |= {
            "bias_member": "    element *bias; /* zeros where there are files */\n",
            "bias_buffer": "    const cl_mem bias = "
            f"buffer_of(context, (size_t){side}, data->bias);\n",
            "bias_release": "    clReleaseMemObject(bias);\n",
            "bias_fill": f"    data.bias = allocate({side});\n    if (files == NULL)\n"
            f"        fill(data.bias, {side}, NULL);\n",
            "bias_free": "    free(data.bias);\n",
            "expected_bias": f"                expected += {widen}(data->bias[{index}]);\n"
            "                bound += 1;\n",
        }
    if activation is not Activation.NONE:
        body = _ACTIVATIONS[activation].replace("LOW", LOW).replace("HIGH", HIGH)
        values |= {
            "activation": f"\nstatic double {activation.value}(double x)\n{{\n    return {body};\n"
            "}\n",
            "activate": f"                expected = {activation.value}(expected);\n"
            f"                bound *= {_STEEPEST};\n",
        }
    return values
