"""Use a tuned GEMM: load a selector, choose a kernel, launch it on pyopencl arrays."""

from mltune.runtime.tuned_gemm import TunedGemm, load

__all__ = ["TunedGemm", "load"]
