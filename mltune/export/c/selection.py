"""The selection in C: exact sizes to search, and the tree as nested ifs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mltune.export.block import (
    FEATURE_VALUES,
    block_of,
    compared,
    features_of,
    nested,
    with_sizes,
)
from mltune.export.c.text import DIALECT, FEATURES_DIALECT
from mltune.export.expression import operators
from mltune.export.formulas import Plan, plan, sizes_of
from mltune.export.template import fill
from mltune.selector import (
    FEATURES,
    LIKELY_PART,
    MOST_EXTENT,
    Leaf,
    Reason,
    Selector,
    Split,
    TimeFormula,
    nodes,
    padding,
    work_limit,
)
from mltune.selector.rival import MOST_TIME, SHIFT
from mltune.selector.rival import PARTS as SHARE_PARTS
from mltune.selector.tiling import CAP, CAPPED, WANTED, columns_of, tiling
from mltune.space.expression import Name, Node, replaced

_TEMPLATES = Path(__file__).parent / "templates" / "selection"

UINT8_MAX, UINT16_MAX, INT32_MAX = 2**8 - 1, 2**16 - 1, 2**31 - 1

_SIZES = {
    "m": "at_least(0, problem->m)",
    "n": "at_least(0, problem->n)",
    "k": "at_least(0, problem->k)",
    "batch": "at_least(0, problem->batch)",
}

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
"""Odd numbers without a pattern, for m, n, k and batch. Only the upper bits of a hash are used.

A chain of products, each of the last one and a size, took 1 of 18 ns of a look-up.
"""


def _code(name: str, **values: object) -> str:
    """Return the code of a template."""
    texts = {each: str(value) for each, value in values.items()}
    return fill(_TEMPLATES / f"{name}.c.in", texts)


def _hash_of(size: tuple[int, ...]) -> int:
    """Compute the same as `hash_of` in C."""
    return sum(extent * factor for extent, factor in zip(size, _FACTORS, strict=True)) % 2**64


def _hash(library: str) -> str:
    m, n, k, batch = (f"0x{factor:x}" for factor in _FACTORS)
    return _code("hash", library=library, m=m, n=n, k=k, batch=batch)


def _look_up(selector: Selector, library: str) -> str:
    """Return a hash table, at most three fifths full, so that most look-ups end soon."""
    exact = sorted(selector.exact)
    bits = max(1, (5 * len(exact) // 3).bit_length())
    places = [0] * 2**bits
    for place, (size, _) in enumerate(exact, start=1):
        field = _hash_of(size) >> (64 - bits)
        while places[field]:
            field = (field + 1) % len(places)
        places[field] = place
    is_batched = any(size[3] != 1 for size, _ in exact)
    width = 4 if is_batched else 3
    rows = (f"    {{{', '.join(map(str, size[:width]))}}}," for size, _ in exact)
    is_small = all(extent <= INT32_MAX for size, _ in exact for extent in size)
    return _code(
        "look_up",
        extent="int32_t" if is_small else "int64_t",
        width=width,
        batch=", batch" if is_batched else "",
        same_batch="found[3] == problem->batch" if is_batched else "problem->batch == 1",
        rows="\n".join(rows),
        kernel=_number(selector),
        kernels=_filled(kernel for _, kernel in exact),
        places=_filled(places),
        place="short" if len(exact) <= UINT16_MAX else "int",
        count=len(places),
        shift=64 - bits,
        library=library,
    )


def _number(selector: Selector) -> str:
    """Return the unsigned type of a kernel's number."""
    return "char" if len(selector.portfolio) <= UINT8_MAX else "short"


def _filled(numbers: Iterable[int]) -> str:
    """Return lines of numbers."""
    pad = " " * 4
    text = ", ".join(map(str, numbers))
    return textwrap.fill(text, 100, initial_indent=pad, subsequent_indent=pad)


def values(selector: Selector, library: str, types: str) -> dict[str, str]:
    """Return the values for the code that chooses a kernel.

    Args:
        selector: to write.
        library: what the names of its functions begin with.
        types: what the names of the types begin with.
    """
    cache, answer = _cache(selector, types)
    return {
        "helpers": _helpers(selector, types),
        "body": _body(selector),
        "likely": _likely(selector, library, types),
        "cache": cache,
        "answer": answer,
    }


def _helpers(selector: Selector, types: str) -> str:
    """Return only the functions and tables that `_body` uses, as C warns about others."""
    used = _used(selector)
    parts = [_code("at_least")] if used or selector.teacher else []
    if any("*" in operators(FEATURE_VALUES[each]) for each in used & FEATURE_VALUES.keys()):
        parts.append(_code("product"))
    formulas = selector.formulas or selector.teacher
    planned = plan(formulas)
    if planned.counts or used & CAPPED.keys():
        parts.append(_code("cover"))
    if selector.formulas:
        parts.append(_fastest(planned))
    if formulas:
        extent, limit = padding(formulas), work_limit(formulas)
        parts.append(_code("has_time", most=MOST_EXTENT, padding=extent, limit=limit))
        parts.append(_time_of(formulas))
    if compared(selector.tree):
        parts.append(_compared(selector, types))
    if selector.exact:
        parts += [_hash(types), _look_up(selector, types)]
    return "\n".join(parts)


def _body(selector: Selector) -> str:
    """Return the statements of the selecting function."""
    has_pairs = bool(compared(selector.tree))
    variables = [] if has_pairs else _variables(selector)
    lines = [*variables]
    if selector.exact:
        lines += [
            "    const int exact = look_up(problem);",
            *(["    int leaf;"] if has_pairs else []),
            "",
            "    if (exact >= 0) {",
            f'        *reason = "{Reason.EXACT.value}";',
            "        return exact;",
            "    }",
        ]
    elif has_pairs:
        lines += ["    int leaf;", ""]
    elif variables:
        lines.append("")
    else:
        lines.append("    (void)problem; /* one kernel for every size */")
    if selector.formulas:
        sizes = ", ".join(f"(uint64_t){size}" for size in _sizes(plan(selector.formulas)))
        lines += [
            "    if (has_time((uint64_t)m, (uint64_t)n, (uint64_t)k, (uint64_t)batch)) {",
            f'        *reason = "{Reason.FORMULAS.value}";',
            f"        return fastest({sizes});",
            "    }",
        ]
    lines.append(f'    *reason = "{Reason.TREE.value}";')
    if has_pairs:
        lines += [
            "    leaf = leaf_of(problem);",
            "    return leaf < PAIR ? leaf : faster_of(problem, &pairs[leaf - PAIR]);",
        ]
    else:
        lines += _tree(selector, lambda leaf: f"return {leaf.kernel};")
    return "\n".join(lines)


def _tree(selector: Selector, answer: Callable[[Leaf], str]) -> Iterator[str]:
    shared = {node: Name(name) for node, name in _shared(selector).items()}
    words = ("if ({}) {{", "}")

    def condition(node: Node) -> str:
        return DIALECT.text(replaced(node, shared))

    return nested(block_of(selector.tree), condition, words, answer, " /* {} */")


def _shared(selector: Selector) -> dict[Node, str]:
    """Return what many conditions use, with names: compilers compute it once.

    With all tiles as such variables the code was 3 % shorter, and a fifth slower.
    """
    asked = [tiling(node.feature) for node, _ in nodes(selector.tree) if isinstance(node, Split)]
    counted = [each for each in asked if each is not None]
    shared = {columns_of(width): f"columns_{width}" for width in {one.columns for one in counted}}
    if any(one.kind == "used" for one in counted):
        shared[WANTED] = "wanted"
    return dict(sorted(shared.items(), key=lambda item: (len(item[1]), item[1])))


def _variables(selector: Selector) -> list[str]:
    """Return the declarations of the variables that the tree asks for."""
    used = _used(selector)
    lines = [f"    const int64_t {name} = {_value(name)};" for name in FEATURES if name in used]
    lines += [
        f"    const uint64_t {name} = (uint64_t)({size} < {CAP} ? {size} : {CAP});"
        for name, size in CAPPED.items()
        if name in used
    ]
    lines += [
        f"    const uint64_t {name} = {DIALECT.text(node)};"
        for node, name in _shared(selector).items()
    ]
    return lines


def _cache(selector: Selector, types: str) -> tuple[str, str]:
    """Return the cache after `choose`, and the name of the function to call.

    A tree alone has no cache, because a look-up in it takes as long.
    """
    if selector.formulas or selector.exact:
        own = "" if selector.exact else f"{_hash(types)}\n"
        return "\n" + _code("remember", library=types, hash=own), "remember"
    return "", "choose"


def _likely(selector: Selector, library: str, types: str) -> str:
    """The function that names the kernels that formulas expect to be the fastest."""
    formulas = selector.formulas or selector.teacher
    if not formulas:
        return _code("none_likely", library=library, problem=types).rstrip("\n")
    return _code(
        "likely",
        library=library,
        problem=types,
        count=len(formulas),
        arguments=", ".join(["kernel", *_sizes(plan(formulas))]),
        part=LIKELY_PART,
    ).rstrip("\n")


def _time_of(formulas: Sequence[TimeFormula]) -> str:
    """Return the function of a kernel's expected time."""
    cases = []
    for number, formula in enumerate(formulas):
        planned = plan([formula])
        time = textwrap.fill(
            f"        return {DIALECT.text(planned.times[0])};", 92, subsequent_indent=" " * 12
        )
        cases.append(f"    case {number}: {{\n{_counts(planned, 2)}\n\n{time}\n    }}")
    parameters = ["int kernel", *(f"uint64_t {size}" for size in _sizes(plan(formulas)))]
    return _code("time_of", parameters=", ".join(parameters), cases="\n".join(cases))


def _compared(selector: Selector, library: str) -> str:
    """Return the functions by which a leaf compares two kernels."""
    sizes = _sizes(plan(selector.teacher))
    first, second = (", ".join([f"pair->{each}", *sizes]) for each in ("first", "second"))
    pairs: list[str] = []

    def answer(leaf: Leaf) -> str:
        if leaf.rival is None:
            return f"return {leaf.kernel};"
        pairs.append(f"    {{{leaf.kernel}, {leaf.rival.kernel}, {leaf.rival.threshold}}},")
        return f"return PAIR + {len(pairs) - 1};"

    variables = _variables(selector)
    tree = [*variables, ""] if variables else ["    (void)problem; /* a single leaf */"]
    tree += _tree(selector, answer)
    return _code(
        "compared",
        parameters=", ".join(["int kernel", *(f"uint64_t {size}" for size in sizes)]),
        arguments=", ".join(["kernel", *sizes]),
        number=_number(selector),
        library=library,
        first=first,
        second=second,
        count=len(selector.portfolio),
        pairs="\n".join(pairs),
        tree="\n".join(tree),
        shift=SHIFT,
        most=MOST_TIME,
        parts=SHARE_PARTS,
        half=SHARE_PARTS // 2,
    )


def _counts(planned: Plan, level: int = 1) -> str:
    pad = "    " * level
    return "\n".join(
        f"{pad}const uint64_t {count.name} = {DIALECT.text(count.value)};"
        for count in planned.counts
    )


def _used(selector: Selector) -> frozenset[str]:
    """Return the variables of the selecting function."""
    used = with_sizes(features_of(selector.tree))
    return used | {"m", "n", "k", "batch"} if selector.formulas else used


def _sizes(planned: Plan) -> list[str]:
    """Return the sizes that a plan needs, as parameters of a function."""
    needed = sizes_of(planned)
    return [size for size in ("m", "n", "k", "batch") if size in needed]


def _fastest(planned: Plan) -> str:
    times = [
        textwrap.fill(DIALECT.text(time), 80, subsequent_indent=" " * 8) for time in planned.times
    ]
    others = [
        f"    time = {time};\n    if (time < least) {{\n        least = time;\n"
        f"        kernel = {number};\n    }}"
        for number, time in enumerate(times)
        if number > 0
    ]
    return _code(
        "fastest",
        sizes=", ".join(f"uint64_t {size}" for size in _sizes(planned)) or "void",
        counts=_counts(planned),
        first=times[0],
        others="\n".join(others),
    )


def _value(feature: str) -> str:
    return _SIZES.get(feature) or FEATURES_DIALECT.text(FEATURE_VALUES[feature])
