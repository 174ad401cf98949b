"""Measurements, a run's description and run folders made up, for all tests of tuning."""

from tests.made_up import info, make, save

__all__ = ["info", "make", "save"]
