"""Tensile's seven-step benchmark protocol: its file, its sizes, and the kernels of each step."""

from mltune.compat.tensile.document import parse_protocol
from mltune.compat.tensile.protocol import Group, Problems, Protocol
from mltune.compat.tensile.steps import FINAL_STEP, STEP_NAMES, StepReport, run_steps

__all__ = [
    "FINAL_STEP",
    "STEP_NAMES",
    "Group",
    "Problems",
    "Protocol",
    "StepReport",
    "parse_protocol",
    "run_steps",
]
