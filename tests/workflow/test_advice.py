from dataclasses import replace
from pathlib import Path

import pytest

from mltune.distil import RegretRow
from mltune.distil.table import GAP
from mltune.problem import Size, parse_problem_type
from mltune.problem.sizes import parse_sizes
from mltune.run.run_info import RunInfo
from mltune.selector import Regret
from mltune.workflow.advice import advice, timing_more

RUN = Path("runs/one")
MORE_SIZES = (
    "time the leaders on more sizes: mltune search --resume --run runs/one "
    "--cross-sizes spread-cpu"
)
MORE_TRIALS = "find more kernels: mltune search --resume --run runs/one --budget 120"


def row(geomean: float, worst: float, *losses: float) -> RegretRow:
    regret = Regret(sizes=9, geomean=geomean, p10=worst, worst=worst, worst_size="8x9x10")
    return RegretRow(rule="tree", regret=regret, within_5_percent=0.5, losses=losses)


@pytest.mark.parametrize(("geomean", "worst"), [(0.9, 0.5), (0.99, 0.8)])
def test_a_good_rule_needs_no_advice(info: RunInfo, geomean: float, worst: float) -> None:
    assert advice(row(geomean, worst), None, {RUN: info}, more_kernels=8) == ()


@pytest.mark.parametrize(("geomean", "worst"), [(0.899, 0.5), (0.95, 0.499)])
def test_a_weak_rule_is_called_so_with_what_to_do(
    info: RunInfo, geomean: float, worst: float
) -> None:
    said = advice(row(geomean, worst), row(0.99, 0.9), {RUN: info}, more_kernels=8)

    assert said == (
        f"weak: {geomean:.3f} of the best known speed in the geometric mean, {worst:.3f} at "
        "8x9x10 (good: at least 0.9 and 0.5)",
        MORE_SIZES,
        MORE_TRIALS,
    )


def test_more_kernels_are_for_a_portfolio_that_is_weak_and_full(info: RunInfo) -> None:
    weak = row(0.5, 0.5)

    assert advice(weak, weak, {RUN: info}, more_kernels=8)[1] == (
        "let more kernels ship: --max-kernels 8"
    )
    assert advice(weak, weak, {RUN: info}, more_kernels=0)[1] == MORE_SIZES


def test_sizes_that_a_run_has_are_not_suggested_again(info: RunInfo) -> None:
    measured = replace(info, cross_sizes=parse_sizes("spread-cpu"))

    assert advice(row(0.5, 0.5), None, {RUN: measured}, more_kernels=0)[1:] == (MORE_TRIALS,)


def test_a_protocol_is_sent_to_its_file(info: RunInfo) -> None:
    protocol = replace(info, sampler="protocol")

    assert advice(row(0.5, 0.5), None, {RUN: protocol}, more_kernels=0)[1:] == (
        "time more sizes: ProblemSizes in a file for mltune protocol",
    )


def test_a_search_with_the_users_own_sampler_is_resumed_with_it(info: RunInfo) -> None:
    own = replace(info, sampler="own_sampler:Mine")

    assert advice(row(0.5, 0.5), None, {RUN: own}, more_kernels=0)[1:] == tuple(
        line.replace("runs/one", "runs/one --sampler own_sampler:Mine")
        for line in (MORE_SIZES, MORE_TRIALS)
    )


def test_a_shared_run_gets_no_more_sizes(info: RunInfo) -> None:
    shared = replace(info, storage="sqlite:///all.db")

    assert advice(row(0.5, 0.5), None, {RUN: shared}, more_kernels=0)[1:] == (MORE_TRIALS,)
    assert timing_more(RUN, shared, "8x8x8") == ""
    assert timing_more(RUN, replace(info, sampler="protocol"), "8x8x8") == ""


def test_the_suites_are_for_products_of_matrices(info: RunInfo) -> None:
    contraction = parse_problem_type("s:abc,cd->abd")
    sizes = (Size((8, 8, 8, 8)),)
    einsum = replace(info, contraction=contraction, sizes=sizes)

    assert advice(row(0.5, 0.5), None, {RUN: einsum}, more_kernels=0)[1:] == (MORE_TRIALS,)


def test_one_size_tells_nothing(info: RunInfo) -> None:
    assert advice(None, None, {RUN: info}, more_kernels=0)[0] == (
        "unknown: with a single size nothing can be held out"
    )


def test_choices_without_a_time_are_told(info: RunInfo) -> None:
    said = advice(row(0.95, 0.1, GAP, 0.1, GAP), None, {RUN: info}, more_kernels=0)

    assert said[1] == (
        "on 2 of 9 sizes the kernel that it chose has no time: it counts as 10 times slower "
        "(finish the runs: mltune search --resume)"
    )
