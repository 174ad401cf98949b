"""From measured times to a selector: a portfolio of kernels, and a rule that chooses by size."""

from mltune.callable_package import make_callable
from mltune.distil.distil import Distilled, distil, fit_best
from mltune.distil.exact import LeftOut
from mltune.distil.regret import RegretRow
from mltune.distil.table import Size, TimeTable

__all__ = ["Distilled", "LeftOut", "RegretRow", "Size", "TimeTable", "distil", "fit_best"]

make_callable(__name__)
