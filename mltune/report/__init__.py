"""The report of a run: one HTML file that works offline, with pictures and tables."""

from mltune.callable_package import make_callable
from mltune.report.content import Content, Model, Selection, TrialPoint
from mltune.report.page import render

__all__ = ["Content", "Model", "Selection", "TrialPoint", "render"]

make_callable(__name__)
