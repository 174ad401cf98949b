"""Use tuned GEMMs: load selectors, choose a kernel, launch it on pyopencl arrays."""

from mltune.runtime.loading import load
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.runtime.tuned_set import TunedSet, load_set

__all__ = ["TunedGemm", "TunedSet", "load", "load_set"]
