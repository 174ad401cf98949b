"""How fast one config was on one problem, or how it failed: values only."""

from mltune.measurement.by_problem import of_problems
from mltune.measurement.measurement import PROTOCOL_VERSION, Measurement, Phase, Status

__all__ = ["PROTOCOL_VERSION", "Measurement", "Phase", "Status", "of_problems"]
