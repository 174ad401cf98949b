"""Made-up measurements, descriptions of runs and run folders, for all tests of tuning."""

from tests.made_up import info, make, save

__all__ = ["info", "make", "save"]
