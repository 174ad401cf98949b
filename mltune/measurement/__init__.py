"""The speed of one config on one problem, or its failure: values only."""

from mltune.measurement.by_problem import of_problems
from mltune.measurement.measurement import PROTOCOL_VERSION, Measurement, Phase, Status

__all__ = ["PROTOCOL_VERSION", "Measurement", "Phase", "Status", "of_problems"]
