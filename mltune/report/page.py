"""The page: the sections of a report in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from mltune.problem import problem_type_name
from mltune.record.effort import Effort
from mltune.record.measurement import Measurement, Status
from mltune.report.bars import bars
from mltune.report.content import Content, Model, Selection
from mltune.report.experiments import experiments
from mltune.report.formulas import formula_table
from mltune.report.loss import MOST_DOTS, calibration, portfolio_curve, regret_strips
from mltune.report.markup import Markup, embed_json, join, tag
from mltune.report.numbers import number, percent, seconds
from mltune.report.parameters import importance_bars, small_multiples
from mltune.report.speed import (
    Paint,
    best_so_far,
    by_speed,
    kernel_class,
    kernel_legend,
    kernel_letter,
    size_map,
)
from mltune.report.tables import (
    MOST_ROWS,
    best_table,
    effort_table,
    environment,
    experiment_table,
    failure_table,
    measurement_data,
    table,
)
from mltune.report.tree import draw_tree

_HERE = Path(__file__).parent
_COLUMNS = ("id", "trial", "phase", "size", "GFLOP/s", "µs", "status", "kernel", "message")

_MOST_BIASED = 12


def render(content: Content) -> str:
    """Write the report as one HTML document."""
    script = (_HERE / "script.js").read_text(encoding="utf-8")
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Nothing is loaded and no other script runs, whatever a run's texts hold.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"mltune report: {content.name}"),
        tag("style", Markup(style)),
    )
    data = embed_json(measurement_data(content.measurements))
    body = tag(
        "body",
        _headline(content),
        *_sections(content),
        tag("script", data, type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _sections(content: Content) -> tuple[Markup, ...]:
    return (
        _best(content.best),
        _search(content),
        _maps(content),
        _parameters(content),
        *_repetitions(content),
        _model(content),
        _selection(content.selection),
        _effort(content),
        _failures(content.measurements),
        _measurements(len(content.measurements)),
        _section("environment", "Environment", environment(content.info)),
        _section("next", "Next", tag("p", tag("code", content.next_command))),
    )


def _section(name: str, title: str, *parts: str) -> Markup:
    return tag("section", tag("h2", title), *parts, id=name)


def _figure(name: str, title: str, caption: str, *parts: str) -> Markup:
    return tag("figure", tag("h3", title), tag("figcaption", caption), *parts, id=f"figure-{name}")


def _note(words: str) -> Markup:
    return tag("p", words, class_="note")


def _headline(content: Content) -> Markup:
    info, trials = content.info, content.trials
    failed = sum(trial.gflops is None for trial in trials)
    fastest = max((row.gflops or 0.0 for row in content.best), default=None)
    tiles = (
        (number(fastest), "GFLOP/s, the fastest size"),
        (str(len(info.cross_problems)), "sizes"),
        (str(len(trials)), f"trials of {info.budget} asked for"),
        (str(failed), "trials failed"),
        (f"{len(content.measurements):,}", "measurements"),
    )
    return tag(
        "header",
        tag("h1", f"{problem_type_name(info.contraction)} on {info.device.name}"),
        tag(
            "p",
            f"{content.name} · {info.created[:10]} · {info.device.platform}, driver "
            f"{info.device.driver_version} · kernel time by device events, "
            f"{info.timing.statistic} of {info.timing.samples}",
            class_="lead",
        ),
        tag(
            "div",
            join(*(tag("div", tag("b", a), tag("span", b), class_="tile") for a, b in tiles)),
            class_="tiles",
        ),
    )


def _best(best: Sequence[Measurement]) -> Markup:
    title = "The best kernel of each size"
    if not best:
        return _section("best", title, _note("No kernel was right on any size."))
    caption = "Times of the leaders' final round where there was one, else of the search."
    return _section("best", title, _note(caption), best_table(best))


def _search(content: Content) -> Markup:
    title = "The search"
    if not content.trials:
        return _section("search", title, _note("No trial was recorded."))
    progress = _figure(
        "progress",
        "Best so far",
        "A dot is a trial, the line is the best so far; a mark on the floor is a failed trial.",
        best_so_far(content.trials),
    )
    model = content.model
    if isinstance(model, str):
        return _section("search", title, tag("div", progress, class_="pair"))
    bars = _figure(
        "importance",
        "Importance of the parameters",
        "Permutation importance from the cost model: what shuffling a parameter among the "
        "measured configs adds to the error (RMSE of log seconds).",
        importance_bars(model.importance)
        if model.importance
        else _note("No parameter varied among the configs that were right."),
    )
    return _section("search", title, tag("div", progress, bars, class_="pair"))


def _maps(content: Content) -> Markup:
    title = "Over M and N"
    best = content.best
    if len({(row.problem.m, row.problem.n) for row in best}) < 3:
        return _section("maps", title, _note("Maps need three sizes that differ in M or N."))
    by_k = "Sizes that differ in K only stand side by side, the smallest K on the left."
    paint, legend = by_speed(best)
    figures = [
        _figure("speed-map", "Speed map", f"The best known speed. {by_k}",
                size_map(best, "Speed over M and N", paint), legend)
    ]  # fmt: skip
    if isinstance(content.selection, Selection):
        figures.append(
            _figure(
                "kernel-map",
                "Kernel map",
                "The fastest kernel of the portfolio; the letters are explained below the choice.",
                size_map(best, "Kernels over M and N", _by_kernel(content.selection)),
            )
        )
    return _section("maps", title, tag("div", *figures, class_="pair"))


def _by_kernel(selection: Selection) -> Paint:
    def paint(row: Measurement) -> tuple[str | None, str | None, str]:
        problem = row.problem
        index = selection.selector.choose(problem.m, problem.n, problem.k, problem.batch).index
        return None, kernel_class(index), kernel_letter(index)

    return paint


def _parameters(content: Content) -> Markup:
    title = "Parameters and speed"
    right = [trial for trial in content.trials if trial.gflops is not None]
    if len({trial.config for trial in right}) < 2:
        return _section("parameters", title, _note("This needs two configs that were right."))
    model = content.model
    order = () if isinstance(model, str) else tuple(name for name, _ in model.importance)
    caption = (
        "A dot is a trial (geometric mean over the sizes), a bar the median of a value's trials. "
        "The search tries good values more often, so that the other parameters differ too: "
        "read it as what was seen, not as cause."
    )
    return _section("parameters", title, tag("figure", tag("figcaption", caption),
                    small_multiples(content.trials, order), id="figure-parameters"))  # fmt: skip


def _repetitions(content: Content) -> tuple[Markup, ...]:
    found = experiments(row for row in content.measurements if row.phase == "search")
    if all(len(one.repetitions) < 2 for one in found):
        return ()  # no sweep
    caption = (
        "An experiment is one kernel with one work-group on one size; GFLOP/s of its repetitions. "
        "The id is that of the first one, for mltune replay."
    )
    rows = experiment_table(found)
    figure = tag("figure", tag("figcaption", caption), bars(found), id="figure-repetitions")
    return (_section("repetitions", "Experiments and their repetitions", figure, rows),)


def _model(content: Content) -> Markup:
    title, model = "The cost model on sizes that it has not seen", content.model
    if isinstance(model, str):
        return _section("model", title, _note(model))
    if not model.calibration or model.rmse_log is None or model.top_1 is None:
        return _section("model", title, _note("This needs at least two sizes."))
    thinned = math.ceil(len(model.calibration) / MOST_DOTS)
    caption = (
        f"{len(model.calibration):,} times, each predicted by a model trained without its size"
        + (f"; every {thinned}th is drawn" if thinned > 1 else "")
        + f". RMSE of log seconds {number(model.rmse_log)}. The config predicted fastest reaches "
        f"{percent(model.top_1)} of the best known speed (geometric mean over the sizes)."
    )
    figure = _figure("calibration", "Predicted and measured", caption,
                     calibration(model.calibration))  # fmt: skip
    return _section("model", title, tag("div", figure, _furthest_off(model), class_="pair"))


def _furthest_off(model: Model) -> Markup:
    worst = sorted(model.bias, key=lambda entry: -abs(math.log(entry[1])))[:_MOST_BIASED]
    return _figure(
        "bias",
        "Sizes that the model gets wrong",
        "Predicted / measured time, geometric mean over a size's configs; 1 is perfect. The order "
        "of a size's configs may be right all the same.",
        table(
            ("size", "predicted / measured"),
            [(label, number(ratio)) for label, ratio in worst],
            numeric=(1,),
        ),
    )


def _selection(selection: Selection | str) -> Markup:
    title = "Choosing a kernel"
    if isinstance(selection, str):
        return _section("selection", title, _note(selection))
    selector = selection.selector
    figures = [
        _figure(
            "portfolio",
            "How many kernels",
            "The time lost (geometric mean) if each size had the best of so many kernels, on the "
            "sizes that they were chosen for.",
            portfolio_curve(selection.portfolio_curve),
        )
    ]
    if selection.losses:
        figures.append(
            _figure(
                "regret",
                "Regret on held-out sizes",
                "A dot is a size, judged by a fit that did not see it; an orange bar is the "
                "geometric mean.",
                regret_strips(selection),
            )
        )
    else:
        figures.append(_note("Regret on held-out sizes needs at least two sizes."))
    legend = kernel_legend([kernel.name for kernel in selector.portfolio])
    tuned = "Sizes that were measured go straight to their kernel."
    if selector.formulas:
        chooses = _figure(
            "formulas",
            "The time formulas",
            "The kernel with the least time is taken: launch + tile x tiles + (step + a tile's "
            "step x tiles + each wave's step x waves) x steps, for the numbers of tiles that "
            f"cover C, of steps of the sums, and of waves of tiles. {tuned}",
            formula_table(selector.formulas),
            legend,
        )
    else:
        chooses = _figure(
            "tree",
            "The tree",
            f"The upper branch is taken where the answer is yes. {tuned}",
            draw_tree(selector.tree),
            legend,
        )
    losses = _regret_table(selection) if selection.losses else ""
    return _section("selection", title, tag("div", *figures, class_="pair"), losses, chooses)


def _regret_table(selection: Selection) -> Markup:
    rows = []
    for rule, losses in selection.losses:
        mean = math.expm1(math.fsum(math.log1p(loss) for loss in losses) / len(losses))
        worst = max(range(len(losses)), key=losses.__getitem__)
        rows.append((rule, selection.sizes[worst], percent(losses[worst]), percent(mean)))
    return table(("rule", "worst at", "worst", "mean"), rows, numeric=(2, 3))


def _effort(content: Content) -> Markup:
    effort = Effort.of(content.measurements, content.info.problems)
    failed = ", ".join(f"{count} {status}" for status, count in effort.failures)
    words = (
        f"{effort.trials} trials ({f'failed: {failed}' if failed else 'none failed'}); the "
        f"builders were busy for {seconds(effort.build_seconds)}; a config was timed on a "
        f"size {effort.timed:,} times."
    )
    return _section("effort", "Where the budget went", _note(words), effort_table(effort))


def _failures(measurements: Sequence[Measurement]) -> Markup:
    if all(row.status is Status.OK for row in measurements):
        return _section("failures", "Failures", _note("Nothing failed."))
    return _section("failures", "Failures", failure_table(measurements))


def _measurements(count: int) -> Markup:
    head = (tag("th", tag("button", name, type="button"), scope="col") for name in _COLUMNS)
    left_out = f"The first {MOST_ROWS:,} of {count:,}; the rest is in the run folder."
    return _section(
        "measurements",
        "All measurements",
        _note(left_out) if count > MOST_ROWS else "",
        tag("noscript", _note("Searching and sorting need JavaScript.")),
        tag("input", type="search", placeholder="Search: a size, a kernel, a status ...",
            aria_label="Search the measurements"),
        tag("output"),
        tag("div", tag("table", tag("thead", tag("tr", *head)), tag("tbody")), class_="scroll"),
        tag("button", "Show more", type="button", class_="more", hidden="hidden"),
    )  # fmt: skip
