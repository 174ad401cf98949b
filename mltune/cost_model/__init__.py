"""The cost model: predicts the time of any config on any size, learned from measurements."""

from mltune.cost_model.io import load, save
from mltune.cost_model.model import BoostedModel, CostModel, rank
from mltune.cost_model.scores import Scores
from mltune.cost_model.train import OtherDevice, fit

__all__ = ["BoostedModel", "CostModel", "OtherDevice", "Scores", "fit", "load", "rank", "save"]
