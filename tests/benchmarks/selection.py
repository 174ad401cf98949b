"""What each way to choose a kernel loses on sizes that it never saw, from any recorded runs.

    python tests/benchmarks/selection.py runs/2026-11-21-sgemm-nn-nvidia-h200 --figure curve.svg

Four tables, all of best known time / time of the chosen kernel: every rule on sizes held out in
four parts, each split drawn again for each seed; the same with all of DeepBench's sizes held out
and none of them fitted to; what so many kernels lose, and beside it the greedy choice of them and
the best there is; and what so many sizes to learn from lose.
Needs no device. With --no-model the boosted cost model, which takes most of the time, is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mltune.cost_model import fit as fit_model
from mltune.distil import TimeTable
from mltune.distil.fit import Settings, folds
from mltune.distil.methods import METHODS
from mltune.distil.portfolio import cover
from mltune.distil.rules import RULES
from mltune.distil.traffic import memory_of
from mltune.problem import problem_of_size, problem_type_name
from mltune.problem.sizes import parse_sizes
from mltune.report.axis import Axis
from mltune.report.markup import Markup, tag
from mltune.report.plot import Plot, text
from mltune.selector import features
from mltune.space import Config
from mltune.workflow.expected_times import rule_table
from mltune.workflow.recorded import Recorded, read_runs

Array = NDArray[np.float64]
Judge = Callable[[TimeTable, TimeTable, Settings], Array]
TOP = 4
_STYLE = """
svg { background: #fff }
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5a6675 }
.grid { stroke: #dfe4ea } .axis { stroke: #5a6675 }
.curve { fill: none; stroke-width: 2 } .dots { stroke-width: 7; stroke-linecap: round }
.formulas { stroke: #0063a3 } .tree { stroke: #c04a00 }
text.formulas { stroke: none; fill: #0063a3 } text.tree { stroke: none; fill: #c04a00 }
"""


def main() -> None:
    """Judge all rules, and print the tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="splits of the sizes")
    parser.add_argument("--first-seed", type=int, default=0, help="of the splits")
    parser.add_argument("--max-kernels", type=int, default=16)
    parser.add_argument("--complete", action="store_true", help="kernels timed on all sizes alone")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--rules", nargs="+", help="these rules alone, and no other table")
    parser.add_argument("--figure", type=Path, help="the learning curve as an SVG file")
    options = parser.parse_args()
    recorded = read_runs(options.runs)
    table = rule_table(recorded.measurements, recorded.infos, recorded.timed)
    table = _complete(table) if options.complete else table
    settings = Settings.of(
        recorded.contraction,
        max_kernels=options.max_kernels,
        compute_units=recorded.device.compute_units,
        memory=memory_of(recorded.device, recorded.contraction),
    )
    print(f"{len(table.sizes)} sizes, {len(table.kernels)} kernels, {recorded.device.name}\n")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.rules:
        _some_rules(table, settings, seeds, options.rules)
        return
    _all_rules(recorded, table, settings, seeds, with_model=not options.no_model)
    _family(recorded, table, settings, with_model=not options.no_model)
    _kernels(table, settings, seeds)
    curves = _learning(table, settings, seeds)
    if options.figure:
        _draw(curves, recorded, options.figure)


def _complete(table: TimeTable) -> TimeTable:
    """Return the table of kernels with a time on every size, to judge every choice."""
    return table.only(np.flatnonzero(np.isfinite(table.seconds).all(axis=0)).tolist())


@dataclass(frozen=True)
class Boosted:
    """The cost model's first choice, or the best of its first few by measurement."""

    recorded: Recorded
    top: int

    def __call__(self, train: TimeTable, test: TimeTable, settings: Settings) -> Array:
        """Fit the model to what was measured on the training sizes; judge it on the others."""
        known = set(train.sizes)
        rows = [
            row
            for row in self.recorded.measurements
            if (row.problem.m, row.problem.n, row.problem.k, row.problem.batch) in known
        ]
        model = fit_model(rows, self.recorded.device, folds=0)
        configs = [kernel.config for kernel in test.kernels]
        losses = []
        for size, ratios in zip(test.sizes, test.log_ratios, strict=True):
            problem = problem_of_size(self.recorded.contraction, size[:3])
            order = np.argsort(model.predict(problem, configs))
            losses.append(ratios[order[: self.top]].min())
        return np.array(losses)


def _encoded(table: TimeTable) -> Array:
    return np.log1p([list(features(*size).values()) for size in table.sizes])


def _cart(train: TimeTable, test: TimeTable, settings: Settings) -> Array:
    """A classifier that learns each size's fastest kernel, without weights."""
    model = DecisionTreeClassifier(max_depth=12, random_state=0)
    model.fit(_encoded(train), train.log_ratios.argmin(axis=1))
    return test.losses(model.predict(_encoded(test)))


def _per_parameter(train: TimeTable, test: TimeTable, settings: Settings) -> Array:
    """The method of MLKAPS: a tree for each parameter; the nearest measured kernel is chosen."""
    winners = [train.kernels[column].config for column in train.log_ratios.argmin(axis=1)]
    wanted = {}
    for name in _varied([kernel.config for kernel in train.kernels]):
        model = DecisionTreeClassifier(max_depth=8, random_state=0)
        model.fit(_encoded(train), [str(config.get(name)) for config in winners])
        wanted[name] = model.predict(_encoded(test))
    agreeing = np.array(
        [
            [
                sum(str(kernel.config.get(name)) == values[row] for name, values in wanted.items())
                for kernel in test.kernels
            ]
            for row in range(len(test.sizes))
        ]
    )
    return test.losses(agreeing.argmax(axis=1))


def _varied(configs: Sequence[Config]) -> list[str]:
    names = {name for config in configs for name in dict(config.items())}
    return sorted(name for name in names if len({str(c.get(name)) for c in configs}) > 1)


def _regression(train: TimeTable, test: TimeTable, settings: Settings) -> Array:
    """One tree that predicts the loss of every kernel; the smallest wins."""
    model = DecisionTreeRegressor(max_depth=12, min_samples_leaf=2, random_state=0)
    model.fit(_encoded(train), train.log_ratios)
    return _least(test, model.predict(_encoded(test)))


def _forest(train: TimeTable, test: TimeTable, settings: Settings) -> Array:
    """The same with 200 extremely randomised trees."""
    model = ExtraTreesRegressor(n_estimators=200, random_state=0)
    model.fit(_encoded(train), train.log_ratios)
    return _least(test, model.predict(_encoded(test)))


def _least(test: TimeTable, predicted: Array) -> Array:
    chosen = predicted.reshape(test.log_ratios.shape).argmin(axis=1)
    return test.losses(chosen)


def _judges(recorded: Recorded, *, with_model: bool) -> dict[str, Judge]:
    judges: dict[str, Judge] = {
        **RULES,
        "plain CART": _cart,
        "multi-output regression tree": _regression,
        "200 randomised trees": _forest,
        "a tree per parameter": _per_parameter,
    }
    if with_model:
        judges["boosted cost model, first"] = Boosted(recorded, 1)
        judges[f"boosted, best of {TOP} measured"] = Boosted(recorded, TOP)
    return judges


def _all_rules(
    recorded: Recorded,
    table: TimeTable,
    settings: Settings,
    seeds: Sequence[int],
    *,
    with_model: bool,
) -> None:
    print("| rule | geomean | 10th pct | worst | within 5 % |\n|---|---|---|---|---|")
    for name, judge in _judges(recorded, with_model=with_model).items():
        once = isinstance(judge, Boosted)
        losses = [_held_out(table, settings, judge, seed) for seed in seeds[: 1 if once else None]]
        print(_row(name, losses), flush=True)


def _some_rules(
    table: TimeTable, settings: Settings, seeds: Sequence[int], names: Sequence[str]
) -> None:
    print("| rule | geomean | 10th pct | worst | within 5 % |\n|---|---|---|---|---|")
    for name in names:
        losses = [_held_out(table, settings, RULES[name], seed) for seed in seeds]
        print(_row(name, losses), flush=True)


def _held_out(table: TimeTable, settings: Settings, judge: Judge, seed: int) -> Array:
    losses = np.zeros(len(table.sizes))
    for train, test in folds(len(table.sizes), 4, seed):
        losses[test] = judge(table.take(train), table.take(test), replace(settings, seed=seed))
    return losses


def _row(name: object, losses: Sequence[Array]) -> str:
    """Return the means over the splits, and the worst of all."""
    speeds = [np.exp(-loss) for loss in losses]
    return (
        f"| {name} | {np.mean([np.exp(-loss.mean()) for loss in losses]):.4f} "
        f"| {np.mean([np.quantile(speed, 0.1) for speed in speeds]):.4f} "
        f"| {min(speed.min() for speed in speeds):.4f} "
        f"| {np.mean([np.mean(speed >= 1 / 1.05) for speed in speeds]):.0%} |"
    )


def _family(recorded: Recorded, table: TimeTable, settings: Settings, *, with_model: bool) -> None:
    suite = {size.extents[:3] for size in parse_sizes("deepbench")}
    inside = [row for row, size in enumerate(table.sizes) if tuple(size[:3]) in suite]
    outside = [row for row in range(len(table.sizes)) if row not in set(inside)]
    if len(inside) < 8 or len(outside) < 8:
        print("\nToo few of DeepBench's sizes, or too few others.")
        return
    train, test = table.take(outside), table.take(inside)
    print(f"\nFitted to {len(outside)} sizes, judged on DeepBench's {len(inside)}:\n")
    print("| rule | geomean | 10th pct | worst | within 5 % |\n|---|---|---|---|---|")
    for name, judge in _judges(recorded, with_model=with_model).items():
        print(_row(name, [judge(train, test, settings)]), flush=True)


def _kernels(table: TimeTable, settings: Settings, seeds: Sequence[int]) -> None:
    print("\n| at most so many kernels | geomean | 10th pct | worst | within 5 % ", end="")
    print("| known sizes, greedy cover | exact cover |\n|---|---|---|---|---|---|---|")
    for most in (1, 2, 4, 6, 8, 12, 16, 24):
        limited = replace(settings, max_kernels=most)
        losses = [_held_out(table, limited, RULES["formulas"], seed) for seed in seeds]
        greedy = cover(table, tolerance=settings.tolerance, max_kernels=most)
        covers = (greedy, _exact_cover(table, settings.tolerance, most))
        known = (
            np.exp(-_beyond(table, settings.tolerance)[:, c].min(axis=1).mean()) for c in covers
        )
        print(_row(most, losses), " | ".join(f"{speed:.4f}" for speed in known), "|", flush=True)


def _beyond(table: TimeTable, tolerance: float) -> Array:
    """Return the loss of each kernel on each size beyond the tolerance, as `cover` counts it."""
    losses = np.maximum(table.log_ratios - np.log1p(tolerance), 0.0)
    return np.asarray(losses * table.size_weights[:, None])


def _exact_cover(table: TimeTable, tolerance: float, max_kernels: int) -> tuple[int, ...]:
    """The portfolio that no other of so many kernels beats, as an integer programme.

    A kernel ships or does not; a size is shared out among kernels that ship. As in `cover` one of
    them is right on as many sizes as any.
    """
    losses = _beyond(table, tolerance)
    sizes, kernels = losses.shape
    solved = np.isfinite(table.seconds).sum(axis=0)
    shares = sparse.kron(sparse.eye(sizes), np.ones(kernels))
    ships = sparse.kron(np.ones((sizes, 1)), sparse.eye(kernels))
    of_kernels = sparse.csr_matrix(np.stack([np.ones(kernels), solved == solved.max()]))
    rows = sparse.bmat(
        [[shares, None], [sparse.eye(sizes * kernels), -ships], [None, of_kernels]], format="csr"
    )
    low = np.concatenate([np.ones(sizes), np.full(sizes * kernels, -np.inf), [1, 1]])
    high = np.concatenate([np.ones(sizes), np.zeros(sizes * kernels), [max_kernels, kernels]])
    found = milp(
        np.concatenate([losses.ravel(), np.zeros(kernels)]),
        constraints=LinearConstraint(rows, low, high),
        integrality=np.repeat([0, 1], [sizes * kernels, kernels]),
        bounds=Bounds(0, 1),
    )
    if not found.success:
        raise RuntimeError(found.message)
    return tuple(np.flatnonzero(found.x[sizes * kernels :] > 0.5).tolist())


def _learning(
    table: TimeTable, settings: Settings, seeds: Sequence[int]
) -> dict[str, list[tuple[int, float]]]:
    """Return each method's training sizes, and its geometric mean on a held-out quarter."""
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in ("formulas", "tree")}
    print("\n| sizes to learn from | " + " | ".join(curves) + " |\n|---|" + "---|" * len(curves))
    most = len(table.sizes) * 3 // 4
    for count in [*(2**power for power in range(4, 12) if 2**power < most), most]:
        for name, curve in curves.items():
            losses = []
            for seed in seeds:
                order = np.random.default_rng(seed).permutation(len(table.sizes))
                train = table.take(sorted(order[:most][:count].tolist()))
                test = table.take(sorted(order[most:].tolist()))
                losses.append(METHODS[name](train, settings).losses(test).mean())
            curve.append((count, float(np.exp(-np.mean(losses)))))
        print(f"| {count} | " + " | ".join(f"{c[-1][1]:.4f}" for c in curves.values()) + " |")
    return curves


def _draw(curves: dict[str, list[tuple[int, float]]], recorded: Recorded, path: Path) -> None:
    """Draw the learning curves."""
    lost = {
        name: [(float(count), 100 * (1 / speed - 1)) for count, speed in curve]
        for name, curve in curves.items()
    }
    points = [point for curve in lost.values() for point in curve]
    plot = Plot(
        x=Axis.around("sizes to learn from", [x for x, _ in points], log=True),
        y=Axis.around("time lost on unseen sizes, %", [y for _, y in points]),
        width=560,
    )
    names = [
        text(plot.px(curve[0][0]) + 12, plot.py(curve[0][1]) - 4, name, css=name)
        for name, curve in lost.items()
    ]
    lines = [plot.line(curve, name) for name, curve in lost.items()]
    marks = [plot.dots(curve, name) for name, curve in lost.items()]
    title = f"What so many sizes teach: {problem_type_name(recorded.contraction)} on "
    style = tag("style", Markup(_STYLE))
    drawn = plot.draw(title + recorded.device.name, style, *lines, *marks, *names)
    path.write_text(
        drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="560" ', 1) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
