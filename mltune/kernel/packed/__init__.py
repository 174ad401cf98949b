"""GEMM for CPUs: one work-item per work-group, panels of A and B packed beside the caches."""

from mltune.kernel.packed.family import PackedFamily

__all__ = ["PackedFamily"]
