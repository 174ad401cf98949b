"""Random problems: awkward sizes, gaps, offsets and scalars of a GEMM or any contraction."""

from __future__ import annotations

import math
import random

from mltune.problem import (
    Activation,
    Contraction,
    Epilogue,
    Precision,
    Problem,
    gemm,
    gemm_problem,
)

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 67, 127, 131, 251, 257, 293)
_SCALARS = (0.0, 1.0, -0.75, 2.5)


def random_gemm(rng: random.Random, precision: Precision) -> tuple[Contraction, ...]:
    """All problem types, column- and row-major, of one kernel with random transposes."""
    letters = "ntc" if precision.is_complex else "nt"
    trans, batched = rng.choice(letters) + rng.choice(letters), rng.random() < 0.2
    column = gemm(precision, trans[0], trans[1], "column", batched)
    rows = (gemm(precision, a, b, "row", batched) for a in letters for b in letters)
    return (column, *(row for row in rows if row.canonical() == column))


def random_epilogue(rng: random.Random, contraction: Contraction) -> Epilogue:
    """A bias, an activation or both, as the precision and the indices allow."""
    is_complex = contraction.precision.is_complex
    activations = [Activation.NONE] if is_complex else list(Activation)
    along = [index for index in (contraction.d0, contraction.d1) if index is not None]
    biases = [*along] if is_complex and along else [None, *along, *along]
    return Epilogue(rng.choice(biases), rng.choice(activations))


def _extent(rng: random.Random, multiple: int, most: int) -> int:
    """From 1 to `most`: often 1, a prime, or a multiple of a tile's side, or one more or less."""
    kind = rng.randrange(5)
    if kind == 0:
        return 1
    if kind == 1:
        return min(rng.choice(_PRIMES), most)
    if kind == 2:
        return rng.randint(1, most)
    around = multiple * rng.randint(1, max(1, most // multiple)) + rng.choice((-1, 0, 1))
    return min(max(around, 1), most)


def random_sizes(
    rng: random.Random, contraction: Contraction, tile: tuple[int, int, int], most: int
) -> Problem:
    """A GEMM with sides up to `most`, often near multiples of a tile's."""
    m, n, k = (_extent(rng, side, most) for side in tile)
    packed = gemm_problem(contraction, m, n, k)

    def leading(tensor: str) -> int:
        return packed.extents(tensor)[0] + rng.choice((0, 0, 1, 3, 4, 16))

    return gemm_problem(
        contraction,
        m,
        n,
        k,
        rng.randint(1, 3) if contraction.batch_indices else 1,
        lda=leading("a"),
        ldb=leading("b"),
        ldc=leading("c"),
        offset_a=rng.choice((0, 0, 1, 4, 37)),
        offset_b=rng.choice((0, 0, 1, 4, 37)),
        offset_c=rng.choice((0, 0, 1, 4, 37)),
        alpha=rng.choice(_SCALARS),
        beta=rng.choice(_SCALARS),
    )


def random_contraction(rng: random.Random, precision: Precision) -> Contraction:
    """Up to three batch indices, three free ones of each side and three sums, in any order."""
    batch, free_a, free_b, summed = (rng.randint(low, 3) for low in (0, 1, 1, 1))
    in_c = [*("batch" for _ in range(batch)), *("a" for _ in range(free_a))]
    in_c += ["b" for _ in range(free_b)]
    rng.shuffle(in_c)
    sums = range(len(in_c), len(in_c) + summed)

    def assigned(side: str) -> tuple[int, ...]:
        indices = [i for i, kind in enumerate(in_c) if kind in ("batch", side)] + list(sums)
        rng.shuffle(indices)
        return tuple(indices)

    return Contraction(
        precision=precision,
        index_assignments_a=assigned("a"),
        index_assignments_b=assigned("b"),
        num_indices_c=len(in_c),
        conjugate_a=precision.is_complex and rng.random() < 0.3,
        conjugate_b=precision.is_complex and rng.random() < 0.3,
    )


def _few(rng: random.Random, count: int, most: int) -> tuple[int, ...]:
    """Extents whose product is `most` at most."""
    while True:
        sizes = tuple(rng.choice((1, 1, 2, 3, 4, 5, 7, 9)) for _ in range(count))
        if math.prod(sizes) <= most:
            return sizes


def _loose(
    rng: random.Random, contraction: Contraction, extents: tuple[int, ...]
) -> tuple[int, ...]:
    """Strides of a tensor with a gap after some dimensions; a GEMM's begin with 1."""
    strides, step = [], 1 if contraction.is_gemm else rng.choice((1, 1, 1, 2))
    for extent in extents:
        strides.append(step)
        step *= extent + rng.choice((0, 0, 1, 3))
    return tuple(strides)


def random_strides(rng: random.Random, contraction: Contraction, most: int) -> Problem:
    """A contraction of at most `most` multiplications, with gaps between elements."""
    sizes = _few(rng, contraction.num_indices, most)
    packed = Problem(contraction=contraction, sizes=sizes)
    return Problem(
        contraction=contraction,
        sizes=sizes,
        strides_a=_loose(rng, contraction, packed.extents("a")),
        strides_b=_loose(rng, contraction, packed.extents("b")),
        strides_c=_loose(rng, contraction, packed.extents("c")),
        offset_a=rng.choice((0, 5)),
        alpha=rng.choice(_SCALARS),
        beta=rng.choice(_SCALARS),
    )
