"""The report of `mltune tune` in Markdown: the gain, its interval, and what is left."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mltune.counted import counted
from mltune.export.plain import plain
from mltune.shell import command
from mltune.workflow.gain import NAMES
from mltune.workflow.program_gain import Against, Compared

if TYPE_CHECKING:
    from mltune.workflow.tune_result import TuneResult

REPORT_NAME = "report.md"
_MOST_ROWS = 200

_CLOCKS = {"kernel": "kernel time by device events", "call": "call time by the host's clock"}


def gain_lines(result: TuneResult) -> tuple[str, ...]:
    """Return the gain over each library, one line each."""
    return tuple(
        _gain_line(each, result.unseen(each), is_counted=result.is_counted)
        for each in result.against
    )


def _gain_line(against: Against, unseen: int, *, is_counted: bool) -> str:
    name, sizes = NAMES[against.library], counted(len(against.sizes), "size")
    if unseen == len(against.sizes):
        sizes += ", on which no kernel was timed before"
    interval = f"95 % interval {against.low:.2f} to {against.high:.2f}"
    clock, saved = _CLOCKS[against.clock], against.saved_seconds
    if is_counted:
        return (
            f"{seconds_text(against.tuned_seconds)} of calls a run of the program in place of "
            f"{seconds_text(against.other_seconds)} by {name}: "
            f"{seconds_text(abs(saved))} {'saved' if saved >= 0 else 'lost'}, "
            f"{against.ratio:.2f} times as fast "
            f"({interval}; {sizes}, {clock})"
        )
    return (
        f"{against.geomean:.2f} times {name} in the geometric mean of {sizes}; once each: "
        f"{seconds_text(against.tuned_seconds)} in place of "
        f"{seconds_text(against.other_seconds)}, {against.ratio:.2f} times as fast "
        f"({interval}; {clock})"
    )


def program_lines(result: TuneResult) -> tuple[str, ...]:
    """Return a line of what the program itself took, if that is known of all compared sizes.

    It has no ratio, as the clocks differ.
    """
    if (seconds := result.program_seconds) is None:
        return ()
    tuned = result.against[0]
    return (
        f"the program itself took {seconds_text(seconds)} for these calls of "
        f"{counted(len(tuned.sizes), 'size')} (host time in the program, as traced), "
        f"tuned kernels {seconds_text(tuned.tuned_seconds)} ({_CLOCKS[tuned.clock]})",
    )


def left_lines(result: TuneResult) -> tuple[str, ...]:
    """Return what is left to gain, and what is unknown."""
    lines = []
    if (ahead := result.ahead_gain) is not None:
        lines.append(f"100 more trials of each are expected to save {ahead:.1%} of the time")
    retry = command("mltune", "tune", "--resume", "-o", result.folder)
    lines += [f"no rule for {line} (retry: {retry})" for line in result.without_rule]
    return (*lines, *result.lacking)


def seconds_text(seconds: float) -> str:
    """Write a time with three digits, or all of its seconds, and a unit."""
    size = abs(seconds)
    if size >= 999.5:
        return f"{seconds:,.0f} s"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if size * factor >= 0.9995 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError("the last unit takes all")


def report_text(result: TuneResult) -> str:
    """Write the report."""
    device, state = result.device, result.state
    lines = [
        f"# {', '.join(part.name for part in state.parts)} on {plain(device.name)}",
        "",
        f"{plain(device.platform)}, driver {plain(device.driver_version)}. Made by "
        f"`mltune tune`; all it measured is in `runs/`.",
        "",
        "## What was gained",
        "",
        *(f"- {line}" for line in (*gain_lines(result), *program_lines(result))),
        *(f"- {plain(line)}" for line in left_lines(result)),
        "",
        "## What was tuned",
        "",
        "| problem type | kernels | trials | seconds | speed / default kernel "
        "| on held-out sizes / best known |",
        "|---|---|---|---|---|---|",
    ]
    for each in result.tuned:
        document = each.to_json()
        ratios = (_ratio_text(document[name]) for name in ("over_default", "unseen_sizes"))
        lines.append(
            f"| {each.part.name} | {document['kernels']} "
            f"| {each.searched.trials} | {each.searched.seconds:.0f} | {' | '.join(ratios)} |"
        )
    for out in state.left_out:
        lines.append(f"| {out.what} | left out: {plain(out.reason)} | | | | |")
    kept = [
        f"- {each.part.name}: {plain(line)}"
        for each in result.tuned
        if (line := each.distilled.kept)
    ]
    lines += ["", *kept] if kept else []
    for library in result.libraries:
        place = library.folder.relative_to(result.folder)
        lines += ["", f"[{place}]({place}): `{library.command}`"]
    lines += ["", *_by_type(result.against)]
    lines += _by_size(result.against, is_counted=result.is_counted)
    following = [f"`{line}`" for _, line in result.following]
    if result.interrupted or result.stopped:  # the words say why
        following = [f"{plain(words)}: `{line}`" for words, line in result.following]
    lines += ["## Next", "", *(f"- {line}" for line in following)]
    return "\n".join(lines) + "\n"


def _ratio_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def _by_type(against: Sequence[Against]) -> list[str]:
    """Make a table of the problem types."""
    lines = []
    for library in against:
        for name, sizes in library.by_problem.items():
            ratios = [each.ratio for each in sizes]
            lines.append(
                f"| {name} | {NAMES[library.library]} | {len(ratios)} "
                f"| {statistics.geometric_mean(ratios):.3f} | {min(ratios):.3f} "
                f"| {max(ratios):.3f} |"
            )
    if not lines:
        return []
    head = "| problem type | speed / | sizes | geometric mean | worst | best |"
    return ["## By problem type", "", head, "|---|---|---|---|---|---|", *lines, ""]


def _by_size(against: Sequence[Against], *, is_counted: bool) -> list[str]:
    """Make a table of the sizes, the most costly first."""
    if not against:
        return []
    rows: dict[tuple[str, tuple[int, ...]], dict[str, Compared]] = defaultdict(dict)
    for library in against:
        for each in library.sizes:
            rows[each.problem, each.size][library.library] = each
    order = sorted(
        rows.items(), key=lambda row: -max(each.tuned_seconds for each in row[1].values())
    )
    names = [each.library for each in against]
    calls = " calls |" if is_counted else ""
    head = "".join(f" times {NAMES[name]} |" for name in names)
    lines = ["## By size", "", f"| problem type | size |{calls} one call |{head}"]
    lines.append("|---" * (3 + is_counted + len(names)) + "|")
    for (problem, size), libraries in order[:_MOST_ROWS]:
        one = next(iter(libraries.values()))
        ratios = "".join(
            f" {libraries[name].ratio:.2f} |" if name in libraries else " - |" for name in names
        )
        count = f" {one.count:,} |" if is_counted else ""
        each_call = seconds_text(one.tuned_seconds / one.count)
        label = "x".join(map(str, size))
        lines.append(f"| {problem} | {label} |{count} {each_call} |{ratios}")
    return [*lines, ""]
