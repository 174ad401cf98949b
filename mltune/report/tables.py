"""Tables: the best kernels, the failures, the environment, and every measurement as data."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Status, of_problems
from mltune.problem import Problem, problem_type_name
from mltune.report.content import KernelSource
from mltune.report.experiments import Experiment
from mltune.report.markup import Markup, join, tag
from mltune.report.numbers import UNKNOWN, byte_size, number, percent, seconds
from mltune.run.effort import Effort
from mltune.run.run_info import RunInfo

MOST_ROWS = 20_000
"""The most measurements in the file, besides the best of each size: about 2 MB. The run folder has
the others.
"""

_LONGEST_MESSAGE = 800
_LONGEST_HINT = 160


def table(
    name: str, header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()
) -> Markup:
    """Make a table that scrolls by itself if it is too wide or too tall.

    Args:
        name: for screen readers.
        header: the columns' names.
        rows: their cells.
        numeric: which columns are numbers.
    """

    def cells(kind: str, row: Sequence[str]) -> Markup:
        return join(
            *(tag(kind, cell, class_="n" if i in numeric else None) for i, cell in enumerate(row))
        )

    head = tag("thead", tag("tr", cells("th", header)))
    body = tag("tbody", join(*(tag("tr", cells("td", row)) for row in rows)))
    return scrolling(name, tag("table", head, body), css="scroll tall")


def scrolling(name: str, content: Markup, css: str = "scroll") -> Markup:
    """Make an area that scrolls by itself, also by the keyboard."""
    return tag("div", content, class_=css, tabindex="0", role="region",
               aria_label=f"{name}: table")  # fmt: skip


def kernel_button(name: str, row: Measurement) -> Markup:
    """Make a button with a kernel's name, which opens the details of the kernel."""
    return tag("button", name, type="button", class_="kernel", data_id=row.id)


def best_table(best: Sequence[Measurement], of_peak: Mapping[Problem, float]) -> Markup:
    """Make the table of the fastest kernel of each size, with its share of the device's peak."""
    peak = ("of peak",) if of_peak else ()
    return table(
        "The best kernel of each size",
        ("size", "GFLOP/s", "time", *peak, "kernel"),
        [
            (
                row.problem.label,
                number(row.gflops),
                seconds(row.median),
                *(_share(of_peak.get(row.problem)) for _ in peak),
                kernel_button(row.kernel, row),
            )
            for row in best
        ],
        numeric=(1, 2, 3) if of_peak else (1, 2),
    )


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else percent(share)


def experiment_table(experiments: Sequence[Experiment]) -> Markup:
    """Make the table of the repetitions of each experiment, with mean and standard deviation."""
    return table(
        "Experiments",
        ("id", "kernel", "size", "repetitions", "mean", "std", "max error", "verdict"),
        [
            (
                str(one.first.id),
                one.label,
                one.problem.label,
                " ".join(map(number, one.gflops)),
                number(one.mean),
                number(one.deviation),
                number(one.max_error),
                one.status.value,
            )
            for one in experiments
        ],
        numeric=(0, 4, 5, 6),
    )


def effort_table(effort: Effort) -> Markup:
    """Make the table of the search's effort on each size, and its result."""
    return table(
        "Where the budget went",
        ("size", "configs timed", "kernels ran", "first", "best", "last gain in trial"),
        [
            (
                size.problem.label,
                str(size.timed),
                seconds(size.kernel_seconds),
                seconds(size.first_seconds),
                seconds(size.best_seconds),
                UNKNOWN if size.last_gain is None else str(size.last_gain),
            )
            for size in effort.sizes
        ],
        numeric=(1, 2, 3, 4, 5),
    )


def failure_table(measurements: Sequence[Measurement]) -> Markup:
    """Make the table of failures of each kind, with the first message of each."""
    failed = [row for row in measurements if row.status is not Status.OK]
    counts = Counter(row.status for row in failed)
    examples = {row.status: row for row in reversed(failed)}
    return table(
        "Failures",
        ("kind", "count", "first message", "of"),
        [
            (
                kind.value,
                str(count),
                tag("pre", examples[kind].message[:_LONGEST_MESSAGE] or "(none)"),
                join(
                    f"{examples[kind].id}: {examples[kind].problem.label} ",
                    tag("code", examples[kind].kernel),
                ),
            )
            for kind, count in counts.most_common()
        ],
        numeric=(1,),
    )  # fmt: skip


def _platform(device: DeviceInfo) -> str:
    opencl = device.opencl
    versions = (opencl.platform_version, opencl.opencl_c_version) if opencl else ()
    return ", ".join((device.platform, *versions))


def environment(info: RunInfo) -> Markup:
    """Make the table of options, device, host and timing."""
    device, timing = info.device, info.timing
    entries = (
        ("command", " ".join(info.command)),
        ("mltune", info.mltune_version),
        ("host", f"{info.host.platform}, Python {info.host.python}"),
        ("device", f"{device.name} ({device.vendor}, {device.kind})"),
        ("platform", _platform(device)),
        ("driver", device.driver_version),
        ("UUID", device.uuid or "not told"),
        ("compute units", f"{device.compute_units} at {device.clock_mhz} MHz"),
        ("lock step", f"{device.wave_size} work-items"),
        ("work-group", f"at most {device.max_work_group_size} work-items"),
        ("local memory", byte_size(device.local_mem_bytes)),
        ("global memory", byte_size(device.global_mem_bytes)),
        (
            "problem",
            f"{problem_type_name(info.contraction)}, alpha {info.alpha}, beta {info.beta}",
        ),
        ("sampler", f"{info.sampler}, seed {info.seed}"),
        (
            "timing",
            f"{device.time_words}: {timing.statistic} of {timing.samples} samples after "
            f"{timing.warmups} warm-ups; limits "
            f"{number(timing.build_timeout_seconds)} s to build, "
            f"{number(timing.run_timeout_seconds)} s to run; {timing.cache} cache",
        ),
        ("space", f"{info.space} ({info.space_hash})"),
    )
    pairs = join(*(join(tag("dt", name), tag("dd", value)) for name, value in entries))
    texts = (
        tag("details", tag("summary", f"the text of the space {each.name}"), tag("pre", each.text))
        for each in info.searched_spaces
    )
    return join(tag("dl", pairs), *texts)


def measurement_data(
    measurements: Sequence[Measurement],
    sources: Sequence[KernelSource],
    replay: str,
    of_peak: Mapping[int, float | None],
) -> dict[str, Any]:
    """Return every measurement as a row of numbers; texts are stored once, and numbered.

    Args:
        measurements: the first ones are kept, and the best of each size.
        sources: of kernels; they are compressed, as they are much alike.
        replay: repeats a measurement when its id is appended.
        of_peak: by the ids of the best measurements, their shares of the device's peak; None if
            unknown.
    """
    sizes, kernels, messages = _Texts(), _Texts(), _Texts()
    configs: dict[str, list[Any]] = {}
    late = (row for row in measurements[MOST_ROWS:] if row.id in of_peak)
    kept = (*measurements[:MOST_ROWS], *late)
    for row in kept:
        if row.kernel not in configs:
            configs[row.kernel] = [row.family, *map(list, row.config.items())]
    size_of = of_problems(kept, lambda problem: sizes.index(problem.label))
    rows = [
        [
            row.id,
            row.trial,
            row.phase,
            size,
            None if (gflops := row.gflops) is None else float(f"{gflops:.5g}"),
            None if (median := row.median) is None else float(f"{median * 1e6:.5g}"),
            row.status.value,
            kernels.index(row.kernel),
            messages.index(row.message[:_LONGEST_HINT]),
        ]
        for row, size in zip(kept, size_of, strict=True)
    ]
    return {
        "sizes": sizes.all,
        "kernels": kernels.all,
        "messages": messages.all,
        "rows": rows,
        "of_peak": {str(id): percent(share) for id, share in of_peak.items() if share},
        "configs": [configs[name] for name in kernels.all],
        "replay": replay,
        "measured": {each.name: each.is_measured for each in sources},
        "sources": _compressed({each.name: each.text for each in sources}),
    }


def _compressed(texts: Mapping[str, str]) -> str:
    """Return JSON, compressed by zlib, in base64, which every browser can unpack."""
    return base64.b64encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()


class _Texts:
    """Texts with numbers, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def index(self, text: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return list(self._numbers)
