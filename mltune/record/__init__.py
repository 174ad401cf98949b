"""Measurements and where they are kept."""

from mltune.record.measurement import PROTOCOL_VERSION, Measurement, Phase, Status

__all__ = ["PROTOCOL_VERSION", "Measurement", "Phase", "Status"]
