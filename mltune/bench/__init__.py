"""The tuned library beside other libraries: same sizes, numbers and clocks, in one run."""

from mltune.bench.comparison import Comparison, compare
from mltune.bench.contestant import Contestant, Product
from mltune.bench.peers import PEERS

__all__ = ["PEERS", "Comparison", "Contestant", "Product", "compare"]
