"""The page: the sections of a report in one file that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from mltune.counted import counted, plural
from mltune.measurement.measurement import Measurement, Phase, Status
from mltune.problem import problem_type_name
from mltune.report.against import against_section
from mltune.report.bars import bars
from mltune.report.calibration import model_section
from mltune.report.choice import choice_section
from mltune.report.content import Against, Content, Selection
from mltune.report.experiments import experiments
from mltune.report.markup import Markup, embed_json, join, tag
from mltune.report.numbers import number, percent, seconds
from mltune.report.parameters import importance_bars, small_multiples
from mltune.report.peak import peak_section
from mltune.report.section import figure, note, section
from mltune.report.speed import (
    Paint,
    best_so_far,
    by_speed,
    kernel_class,
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
    scrolling,
)
from mltune.run.effort import Effort

_HERE = Path(__file__).parent
_SCRIPTS = ("script.js", "plots.js")
_COLUMNS = ("id", "trial", "phase", "size", "GFLOP/s", "µs", "status", "kernel", "message")


_CONTENTS = (
    ("best", "Sizes"),
    ("peak", "Peak"),
    ("search", "Search"),
    ("maps", "Maps"),
    ("parameters", "Parameters"),
    ("model", "Model"),
    ("selection", "Choice"),
    ("effort", "Budget"),
    ("failures", "Failures"),
    ("measurements", "Measurements"),
    ("environment", "Environment"),
)
_DETAIL = tag(
    "dialog",
    tag("form", tag("button", "Close"), method="dialog"),
    tag("h2", "Kernel", id="detail-title"),
    tag("div", "", class_="words"),
    tag("h3", "Measure it again"),
    tag("pre", "", class_="replay", tabindex="0"),
    tag("h3", "Parameters"),
    tag("dl", ""),
    tag("h3", "Source"),
    tag("p", "", class_="note"),
    tag("pre", "", class_="source", tabindex="0"),
    id="detail",
    aria_labelledby="detail-title",
)


def render(content: Content) -> str:
    """Write the report as one HTML document."""
    script = "".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The policy forbids all loading and all other scripts, whatever a run's texts contain.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"mltune report: {content.name}"),
        tag("style", Markup(style)),
    )
    shares = {row.id: content.of_peak.get(row.problem) for row in content.best}
    data = embed_json(
        measurement_data(content.measurements, content.sources, content.replay_command, shares)
    )
    body = tag(
        "body",
        _headline(content),
        _contents(content.against),
        tag("main", *_sections(content)),
        _DETAIL,
        tag("script", data, type="application/json", id="data"),
        tag("script", Markup(script)),
        data_refresh=content.refresh_seconds or None,
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _contents(against: Against | None) -> Markup:
    """Return links to the sections."""
    first, *others = _CONTENTS
    contents = (first, *((("against", "Beside"),) if against else ()), *others)
    links = (tag("a", words, href=f"#{name}") for name, words in contents)
    return tag("nav", *links, aria_label="Contents")


def _sections(content: Content) -> tuple[Markup, ...]:
    return (
        _best(content),
        *against_section(content.against),
        peak_section(content.best, content.of_peak),
        _search(content),
        _maps(content),
        _parameters(content),
        *_repetitions(content),
        model_section(content.model),
        choice_section(content.selection, content.best),
        _effort(content),
        _failures(content.measurements),
        _measurements(len(content.measurements)),
        section("environment", "Environment", environment(content.info)),
        section("next", "Next", tag("p", tag("code", content.next_command))),
    )


def _headline(content: Content) -> Markup:
    info, trials = content.info, content.trials
    failed = sum(trial.gflops is None for trial in trials)
    fastest = max((row.gflops or 0.0 for row in content.best), default=None)
    tiles = (
        *_gains(content),
        (number(fastest), "GFLOP/s, the fastest size"),
        _counted(len(info.cross_problems), "size"),
        _counted(len(trials), "trial"),
        (str(failed), f"{plural(failed, 'trial')} failed"),
        _counted(len(content.measurements), "measurement"),
    )
    return tag(
        "header",
        tag("h1", f"{problem_type_name(info.contraction)} on {info.device.name}"),
        tag(
            "p",
            f"{content.name} · {info.created[:10]} · {info.device.platform}, driver "
            f"{info.device.driver_version} · {info.device.time_words}, "
            f"{info.timing.statistic} of {info.timing.samples}",
            class_="lead",
        ),
        tag(
            "div",
            join(*(tag("div", tag("b", a), tag("span", b), class_="tile") for a, b in tiles)),
            class_="tiles",
        ),
        tag(
            "p",
            "Click a kernel or a size to see its parameters and source. Point at a dot to see "
            "what it is. Drag over a picture to enlarge that part; double-click to see all of it "
            "again. Keyboard: arrows, + and -, 0, Enter.",
            class_="note how",
        ),
    )


def _counted(number: int, noun: str) -> tuple[str, str]:
    return f"{number:,}", plural(number, noun)


def _gains(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the gain and the share of the peak, as geometric means over the sizes."""
    if (gain := content.gain) is not None:
        yield f"{gain.speed:.2f}", f"{gain.words}, {counted(gain.sizes, 'size')}"
    if (other := content.against) is not None:
        yield (
            f"{other.speed:.2f}",
            f"of the speed of {other.name}, {counted(len(other.pairs), 'size')}",
        )
    if shares := list(content.of_peak.values()):
        yield percent(statistics.geometric_mean(shares)), "of the device's peak, mean of the sizes"


def _best(content: Content) -> Markup:
    title, best = "The best kernel of each size", content.best
    if not best:
        return section("best", title, note("No kernel was right on any size."))
    caption = (
        f"{counted(len(best), 'size')}; a long table scrolls. Times are from the leaders' "
        "final rounds if there were any, else from the search."
    )
    peak = (
        " Of peak: the least time by the device's published peaks / the time."
        if content.of_peak
        else ""
    )
    return section("best", title, note(caption + peak), best_table(best, content.of_peak))


def _search(content: Content) -> Markup:
    title = "The search"
    if not content.trials:
        return section("search", title, note("No trial was recorded."))
    progress = figure(
        "progress",
        "Best so far",
        "A dot is a trial, the line is the best so far; a mark at the bottom is a failed trial.",
        best_so_far(content.trials),
    )
    model = content.model
    if isinstance(model, str):
        return section("search", title, tag("div", progress, class_="pair"))
    bars = figure(
        "importance",
        "Importance of the parameters",
        "Permutation importance from the cost model: the increase of the error (RMSE of log "
        "seconds, on sizes not seen) if a parameter is shuffled among the measured configs.",
        importance_bars(model.importance)
        if model.importance
        else note("No parameter varied among the configs that were right."),
    )
    return section("search", title, tag("div", progress, bars, class_="pair"))


def _maps(content: Content) -> Markup:
    title = "Over M and N"
    best = content.best
    if len({(row.problem.m, row.problem.n) for row in best}) < 3:
        return section("maps", title, note("Maps need three sizes that differ in M or N."))
    by_k = "Sizes that differ in K only stand side by side, the smallest K on the left."
    paint, legend = by_speed(best)
    figures = [
        figure("speed-map", "Speed map", f"The best known speed. {by_k}",
                size_map(best, "Speed over M and N", paint, content.of_peak), legend)
    ]  # fmt: skip
    if isinstance(content.selection, Selection):
        figures.append(
            figure(
                "kernel-map",
                "Kernel map",
                "The fastest kernel of the portfolio; the letters are explained below the choice.",
                size_map(
                    best, "Kernels over M and N", _by_kernel(content.selection), content.of_peak
                ),
            )
        )
    return section("maps", title, tag("div", *figures, class_="pair"))


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
        return section("parameters", title, note("This needs two configs that were right."))
    model = content.model
    order = () if isinstance(model, str) else tuple(name for name, _ in model.importance)
    caption = (
        "A dot is a trial (geometric mean over the sizes), a bar the median of a value's trials. "
        "The search tries good values more often, so other parameters differ, too: "
        "this shows correlation, not cause."
    )
    return section("parameters", title, tag("figure", tag("figcaption", caption),
                    small_multiples(content.trials, order), id="figure-parameters"))  # fmt: skip


def _repetitions(content: Content) -> tuple[Markup, ...]:
    found = experiments(row for row in content.measurements if row.phase == Phase.SEARCH)
    if all(len(one.repetitions) < 2 for one in found):
        return ()  # no experiments
    caption = (
        "An experiment is one kernel with one work-group on one size; GFLOP/s of its repetitions. "
        "The id is that of the first one, for mltune replay."
    )
    rows = experiment_table(found)
    shown = tag("figure", tag("figcaption", caption), bars(found), id="figure-repetitions")
    return (section("repetitions", "Experiments and their repetitions", shown, rows),)


def _effort(content: Content) -> Markup:
    effort = Effort.of(content.measurements, content.info.problems)
    failed = ", ".join(f"{count} {status}" for status, count in effort.failures)
    words = (
        f"{counted(effort.trials, 'trial')} ({f'failed: {failed}' if failed else 'none failed'}); "
        f"the builders were busy for {seconds(effort.build_seconds)}; a config was timed on a "
        f"size {effort.timed:,} times."
    )
    return section("effort", "Where the budget went", note(words), effort_table(effort))


def _failures(measurements: Sequence[Measurement]) -> Markup:
    if all(row.status is Status.OK for row in measurements):
        return section("failures", "Failures", note("Nothing failed."))
    return section("failures", "Failures", failure_table(measurements))


def _measurements(count: int) -> Markup:
    head = (tag("th", tag("button", name, type="button"), scope="col") for name in _COLUMNS)
    left_out = (
        f"The first {MOST_ROWS:,} of {count:,}, and the best of each size; the rest is in the run "
        "folder."
    )
    return section(
        "measurements",
        "All measurements",
        note(left_out) if count > MOST_ROWS else "",
        tag("noscript", note("Searching and sorting need JavaScript.")),
        tag("input", type="search", placeholder="Search: a size, a kernel, a status ...",
            aria_label="Search the measurements"),
        tag("output"),
        scrolling(
            "All measurements", tag("table", tag("thead", tag("tr", *head)), tag("tbody"))
        ),
        tag("button", "Show more", type="button", class_="more", hidden="hidden"),
    )  # fmt: skip
