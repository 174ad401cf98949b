"""The selection in C: exact sizes to search, and the tree as nested ifs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

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

UINT8_MAX, UINT16_MAX, INT32_MAX = 2**8 - 1, 2**16 - 1, 2**31 - 1

_SIZES = {
    "m": "at_least(0, problem->m)",
    "n": "at_least(0, problem->n)",
    "k": "at_least(0, problem->k)",
    "batch": "at_least(0, problem->batch)",
}
_AT_LEAST = """\
static int64_t at_least(int64_t least, int64_t size)
{
    return size < least ? least : size;
}
"""

_PRODUCT = """\
/* The product of two sizes, or INT64_MAX where it is larger than that. */
static int64_t product(int64_t x, int64_t y)
{
    if ((x | y) <= INT32_MAX) /* nearly always, and without a division */
        return x * y;
    return x != 0 && y > INT64_MAX / x ? INT64_MAX : x * y;
}
"""

_COVER = """\
static uint64_t cover(uint64_t size, uint64_t part)
{
    return (size + part - 1) / part;
}
"""

_FASTEST = """\
/* The kernel with the least time, in femtoseconds; of equal ones the first. Nothing overflows
   for sizes that `has_time` lets through. */
static int fastest({sizes})
{{
{counts}
    uint64_t least = {first};
    uint64_t time;
    int kernel = 0;

{others}
    return kernel;
}}
"""

_HAS_TIME = """\
/* Whether the work of a size, with {padding} more on each side, is at most {limit}. */
static int has_time(uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{{
    const uint64_t most = {most}, limit = {limit}u;
    const uint64_t area = (m + {padding}) * (n + {padding});
    const uint64_t terms = (k + {padding}) * (batch > 1 ? batch : 1);

    if (m > most || n > most || k > most || batch > most)
        return 0;
    if ((area | terms) <= INT32_MAX) /* nearly always, and without a division */
        return area * terms <= limit;
    return area <= limit / terms;
}}
"""

_TIME_OF = """\
#if defined(__GNUC__)
#define RARELY __attribute__((cold)) /* compiled for size */
#else
#define RARELY
#endif

/* What a kernel is expected to take, in femtoseconds, where `has_time` says so. */
RARELY static uint64_t time_of({parameters})
{{
    switch (kernel) {{
{cases}
    }}
    return 0;
}}
"""

_COMPARED = """\
#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline)) /* saves the jumps to a common end */
#elif defined(_MSC_VER)
#define NOT_INLINE __declspec(noinline)
#else
#define NOT_INLINE
#endif

/* The expected time in units of 2^{shift} femtoseconds. */
static uint64_t units_of({parameters})
{{
    const uint64_t most = {most}, units = time_of({arguments}) >> {shift};

    return units < most ? units : most;
}}

/* Leaves of two kernels: the first one is taken if its share in the sum of both expected times is
   at most so many {parts}ths. */
static const struct pair {{
    unsigned {number} first, second;
    short threshold;
}} pairs[] = {{
{pairs}
}};

static int faster_of(const {library}_problem *problem, const struct pair *pair)
{{
    const uint64_t m = (uint64_t)at_least(0, problem->m), n = (uint64_t)at_least(0, problem->n),
                   k = (uint64_t)at_least(0, problem->k),
                   batch = (uint64_t)at_least(0, problem->batch);
    const uint64_t parts = (uint64_t)pair->threshold + 1;
    uint64_t one, other;

    if (!has_time(m, n, k, batch))
        return {half} < parts ? pair->first : pair->second;
    one = units_of({first});
    other = units_of({second});
    return {parts} * one < parts * (one + other + 1) ? pair->first : pair->second;
}}

/* The kernel of a size's leaf, or PAIR and the number of its pair. */
enum {{ PAIR = {count} }};

NOT_INLINE static int leaf_of(const {library}_problem *problem)
{{
{tree}
}}
"""

_LIKELY = """\
int {library}_likely(const {problem}_problem *problem, int most, int *kernels)
{{
    const uint64_t m = (uint64_t)at_least(0, problem->m), n = (uint64_t)at_least(0, problem->n),
                   k = (uint64_t)at_least(0, problem->k),
                   batch = (uint64_t)at_least(0, problem->batch);
    uint64_t times[{count}];
    int found = 0, kernel, place;

    if (most < 1 || !has_time(m, n, k, batch))
        return 0;
    for (kernel = 0; kernel < {count}; ++kernel) {{
        times[kernel] = time_of({arguments});
        for (place = found; place > 0 && times[kernels[place - 1]] > times[kernel]; --place)
            if (place < most)
                kernels[place] = kernels[place - 1];
        if (place < most)
            kernels[place] = kernel;
        found += found < most;
    }}
    while (times[kernels[found - 1]] - times[kernels[0]] > times[kernels[0]] / {part})
        --found;
    return found;
}}"""

_NONE_LIKELY = """\
int {library}_likely(const {problem}_problem *problem, int most, int *kernels)
{{
    (void)problem; /* there are no formulas */
    (void)most;
    (void)kernels;
    return 0;
}}"""

_REMEMBER = """
#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#elif defined(__GNUC__)
#define THREAD_LOCAL __thread
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define THREAD_LOCAL _Thread_local
#endif

#ifdef THREAD_LOCAL
{hash}/* The last answer to the sizes of each hash. Every thread has its own: nothing is locked. */
static THREAD_LOCAL struct answer {{
    {library}_problem problem;
    const char *reason; /* NULL: none yet */
    int kernel;
}} answers[256];

static int remember(const {library}_problem *problem, const char **reason)
{{
    struct answer *const answer = &answers[hash_of(problem) >> 56];

    if (answer->reason == NULL || answer->problem.m != problem->m ||
        answer->problem.n != problem->n || answer->problem.k != problem->k ||
        answer->problem.batch != problem->batch) {{
        answer->kernel = choose(problem, &answer->reason);
        answer->problem = *problem;
    }}
    *reason = answer->reason;
    return answer->kernel;
}}
#else
#define remember choose
#endif
"""

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
"""Odd numbers without a pattern, for m, n, k and batch. Only the upper bits of a hash are used.

A chain of products, each of the last one and a size, took 1 of 18 ns of a look-up.
"""

_HASH = """\
static uint64_t hash_of(const {library}_problem *problem)
{{
    return (uint64_t)problem->m * {m}u + (uint64_t)problem->n * {n}u +
        (uint64_t)problem->k * {k}u + (uint64_t)problem->batch * {batch}u;
}}

"""

_LOOK_UP = """\
/* The sizes that were tuned for: m, n, k{batch}, in ascending order. */
static const {extent} exact_sizes[][{width}] = {{
{rows}
}};

/* The kernel of each. */
static const unsigned {kernel} exact_kernels[] = {{
{kernels}
}};

/* The place of each, counted from 1, where its hash says, or in the next free field; 0 is free. */
static const unsigned {place} exact_places[{count}] = {{
{places}
}};

/* The kernel of an exact size; -1 for any other. */
static int look_up(const {library}_problem *problem)
{{
    size_t field = (size_t)(hash_of(problem) >> {shift});

    for (; exact_places[field] != 0; field = (field + 1) % {count}) {{
        const {extent} *const found = exact_sizes[exact_places[field] - 1];

        if (found[0] == problem->m && found[1] == problem->n && found[2] == problem->k &&
            {same_batch})
            return exact_kernels[exact_places[field] - 1];
    }}
    return -1;
}}
"""


def _hash_of(size: tuple[int, ...]) -> int:
    """Compute the same as `hash_of` in C."""
    return sum(extent * factor for extent, factor in zip(size, _FACTORS, strict=True)) % 2**64


def _hash(library: str) -> str:
    m, n, k, batch = (f"0x{factor:x}" for factor in _FACTORS)
    return _HASH.format(library=library, m=m, n=n, k=k, batch=batch)


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
    return _LOOK_UP.format(
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


def helpers(selector: Selector, library: str) -> str:
    """Return only the functions and tables that `body` uses, as C warns about others."""
    used = _used(selector)
    parts = [_AT_LEAST] if used or selector.teacher else []
    if any("*" in operators(FEATURE_VALUES[each]) for each in used & FEATURE_VALUES.keys()):
        parts.append(_PRODUCT)
    formulas = selector.formulas or selector.teacher
    planned = plan(formulas)
    if planned.counts or used & CAPPED.keys():
        parts.append(_COVER)
    if selector.formulas:
        parts.append(_fastest(planned))
    if formulas:
        extent, limit = padding(formulas), work_limit(formulas)
        parts.append(_HAS_TIME.format(most=MOST_EXTENT, padding=extent, limit=limit))
        parts.append(_time_of(formulas))
    if compared(selector.tree):
        parts.append(_compared(selector, library))
    if selector.exact:
        parts += [_hash(library).rstrip("\n") + "\n", _look_up(selector, library)]
    return "\n".join(parts)


def body(selector: Selector) -> str:
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


def cache(selector: Selector, library: str) -> tuple[str, str]:
    """Return the cache after `choose`, and the name of the function to call.

    A tree alone has no cache, because a look-up in it takes as long.
    """
    if selector.formulas or selector.exact:
        own = "" if selector.exact else _hash(library)
        return _REMEMBER.format(library=library, hash=own), "remember"
    return "", "choose"


def likely(selector: Selector, library: str, problem: str) -> str:
    """The function that names the kernels that formulas expect to be the fastest.

    Args:
        selector: with the formulas, or without.
        library: what the function's name begins with.
        problem: what the type's name begins with.
    """
    formulas = selector.formulas or selector.teacher
    if not formulas:
        return _NONE_LIKELY.format(library=library, problem=problem)
    return _LIKELY.format(
        library=library,
        problem=problem,
        count=len(formulas),
        arguments=", ".join(["kernel", *_sizes(plan(formulas))]),
        part=LIKELY_PART,
    )


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
    return _TIME_OF.format(parameters=", ".join(parameters), cases="\n".join(cases))


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
    return _COMPARED.format(
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
    return _FASTEST.format(
        sizes=", ".join(f"uint64_t {size}" for size in _sizes(planned)) or "void",
        counts=_counts(planned),
        first=times[0],
        others="\n".join(others),
    )


def _value(feature: str) -> str:
    return _SIZES.get(feature) or FEATURES_DIALECT.text(FEATURE_VALUES[feature])
