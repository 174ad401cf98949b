"""The speed of one config on one problem, or its failure: values only."""

from mltune.measurement.by_problem import of_problems
from mltune.measurement.measurement import Measurement, Phase, Status

__all__ = ["Measurement", "Phase", "Status", "of_problems"]
