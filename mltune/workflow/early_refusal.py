"""Refuses double precision on a device without it, before slow imports.

The runner refuses it, too, but importing optuna, SQLAlchemy and scipy first takes a second.
"""

from __future__ import annotations

from mltune.device.chosen import ask
from mltune.errors import UsageError
from mltune.problem import parse_problem_type
from mltune.runner.capacity import refuse_precisions


def refuse_early(problem: str, device: str) -> None:
    """Ask another process for the device; other errors are reported later.

    Args:
        problem: a problem type as a user writes it.
        device: the value of `--device`.

    Raises:
        NoDeviceError: when the device lacks the precision.
    """
    try:
        precision = parse_problem_type(problem).precision
    except UsageError:
        return
    found = ask(device) if precision.is_double else None
    if found is not None:
        refuse_precisions([precision], found)
