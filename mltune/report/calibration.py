"""The section about the cost model: its predictions beside the measurements."""

from __future__ import annotations

import math

from mltune.report.content import Model
from mltune.report.loss import MOST_DOTS, calibration
from mltune.report.markup import Markup, tag
from mltune.report.numbers import number, percent
from mltune.report.section import figure, note, section
from mltune.report.tables import table

_MOST_BIASED = 12


def model_section(model: Model | str) -> Markup:
    """Show predicted against measured times, and the sizes with the largest errors."""
    title = "The cost model on sizes that it has not seen"
    if isinstance(model, str):
        return section("model", title, note(model))
    if not model.calibration or model.rmse_log is None or model.top_1 is None:
        return section("model", title, note("This needs at least two sizes."))
    thinned = math.ceil(len(model.calibration) / MOST_DOTS)
    caption = (
        f"{len(model.calibration):,} times, each predicted by a model trained without its size"
        + (f"; one in {thinned} is drawn" if thinned > 1 else "")
        + f". RMSE of log seconds {number(model.rmse_log)}. The config predicted fastest reaches "
        f"{percent(model.top_1)} of the best known speed (geometric mean over the sizes)."
    )
    points = figure(
        "calibration", "Predicted and measured", caption, calibration(model.calibration)
    )
    return section("model", title, tag("div", points, _furthest_off(model), class_="pair"))


def _furthest_off(model: Model) -> Markup:
    worst = sorted(model.bias, key=lambda entry: -abs(math.log(entry[1])))[:_MOST_BIASED]
    return figure(
        "bias",
        "Sizes that the model gets wrong",
        "Predicted / measured time, geometric mean over a size's configs; 1 is perfect. The order "
        "of a size's configs may still be right.",
        table(
            "Sizes that the model got wrong",
            ("size", "predicted / measured"),
            [(label, number(ratio)) for label, ratio in worst],
            numeric=(1,),
        ),
    )
