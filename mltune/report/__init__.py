"""The report of a run: one HTML file that works offline, with pictures and tables."""

from mltune.report.content import Content, Model, Selection, TrialPoint
from mltune.report.page import render

__all__ = ["Content", "Model", "Selection", "TrialPoint", "render"]
