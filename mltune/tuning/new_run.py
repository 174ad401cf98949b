"""What a new run is: the options of a search, with the defaults filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mltune import __version__
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel.handwritten import Description
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import to_text
from mltune.kernel.handwritten.space import space_text
from mltune.problem import (
    problem_of_size,
    problem_type_name,
)
from mltune.problem.sizes import parse_sizes
from mltune.run.run_info import TIME, RunInfo, SearchedSpace, Timing
from mltune.runner.capacity import refuse_too_large
from mltune.runner.live import DEFAULT_SAMPLES
from mltune.runner.timing import WARMUPS
from mltune.tuning.cross_sizes import AUTO, NONE, SHARE, default_cross_sizes
from mltune.tuning.search_options import (
    DEFAULT_BUDGET,
    DEFAULT_SAMPLER,
    RUNS,
    WARM,
    SearchOptions,
    asked_contraction,
    asked_priors,
    asked_sizes,
    asked_spaces,
    without_password,
)


def handwritten_space(kernels: tuple[Description, ...]) -> SearchedSpace:
    """Return the space of hand-written kernels alone."""
    return SearchedSpace(HANDWRITTEN, HANDWRITTEN, space_text(kernels))


def new_run_info(
    options: SearchOptions,
    device: DeviceInfo,
    spaces: Sequence[SearchedSpace],
    kernels: tuple[Description, ...] = (),
) -> RunInfo:
    """Fill in the defaults, some of which depend on the device.

    Args:
        options: of the verb.
        device: that will measure.
        spaces: that are searched, at least one.
        kernels: hand-written ones.

    Raises:
        UsageError: when an option is wrong.
    """
    kind = "cpu" if device.kind == "cpu" else "gpu"
    is_written = spaces[0].family == HANDWRITTEN
    contraction = asked_contraction(options, kernels)
    families = dict.fromkeys(each.family for each in spaces)
    info = RunInfo(
        id=options.run_id,
        mltune_version=__version__,
        command=without_password(options.command, options.storage),
        contraction=contraction,
        alpha=_given(options.alpha, 1.0),
        beta=_given(options.beta, 0.0),
        sizes=asked_sizes(_given(options.sizes, "gemmbench" if is_written else kind)),
        space=spaces[0].name if len(spaces) == 1 else ",".join(asked_spaces(options)),
        space_text=spaces[0].text if len(spaces) == 1 else "",
        spaces=tuple(spaces) if len(spaces) > 1 else (),
        family=", ".join(families),
        device=device,
        seed=_given(options.seed, 0),
        budget=_given(options.budget, DEFAULT_BUDGET),
        sampler=options.sampler or DEFAULT_SAMPLER,
        sampler_arguments=options.sampler_arguments or "",
        timing=timing_of(options),
        observers=options.observers or (),
        objective=options.objective or TIME,
        priors=asked_priors(options.priors),
        kernels=to_text(kernels) if kernels else "",
        leaders_chosen=not kernels,
    )
    for size in info.sizes:
        problem_of_size(contraction, size.extents, info.alpha, info.beta)
    for name, factor in (("alpha", info.alpha), ("beta", info.beta)):
        most = float(np.finfo(contraction.precision.dtype).max)
        if not abs(factor) <= most:
            raise UsageError(
                f"--{name}: must be from -{most:g} to {most:g} for "
                f"{problem_type_name(contraction)}, got {factor:g}"
            )
    info = _with_cross_sizes(info, options.cross_sizes or (NONE if is_written else AUTO))
    refuse_too_large(info.cross_problems, device)
    return info


def timing_of(options: SearchOptions) -> Timing:
    """Return how measurements are timed."""
    return Timing(
        warmups=WARMUPS,
        samples=_given(options.samples, DEFAULT_SAMPLES),
        build_timeout_seconds=_given(options.build_timeout_seconds, 60.0),
        run_timeout_seconds=_given(options.run_timeout_seconds, 30.0),
        cache=options.cache or WARM,
    )


def _with_cross_sizes(info: RunInfo, text: str) -> RunInfo:
    """Return a run with the further sizes of `--cross-sizes`."""
    if text == NONE:
        return info
    if text == AUTO:
        found = default_cross_sizes(info.contraction, info.sizes, info.device)
        return replace(info, cross_sizes=found, cross_share=SHARE if found else 0.0)
    sizes = parse_sizes(text)
    for size in sizes:
        problem_of_size(info.contraction, size.extents, info.alpha, info.beta)
    return replace(info, cross_sizes=sizes)


def default_folder(info: RunInfo) -> Path:
    """Return a new run's folder: date, problem type and device."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    name = problem_type_name(info.contraction).replace("_", "-")
    base = RUNS / f"{date}-{name}-{info.device.slug}"
    return next(path for path in _numbered(base) if not path.exists())


def _numbered(base: Path) -> Iterator[Path]:
    yield base
    number = 2
    while True:
        yield base.with_name(f"{base.name}-{number}")
        number += 1


def _given(value: Any, default: Any) -> Any:
    return default if value is None else value
