"""A space of twelve configs that build quickly, and six small sizes."""

from __future__ import annotations

QUICK_SPACE = """
name: quick
family: tiled
about: A handful of kernels that build in no time.
parameters:
  work_group_0: {values: [1, 2, 4]}
  work_group_1: {values: [1, 2]}
  thread_tile_0: {values: [4, 8]}
  thread_tile_1: {values: [1]}
  depth_u: {values: [8]}
  vector_width: {values: [4]}
  prefetch_global_read: {values: [0]}
  local_pad: {values: [0]}
  loop_unroll: {values: [1]}
  work_group_mapping: {values: [1]}
  multiply_add: {values: [expr]}
  vector_access: {values: [vload]}
"""
QUICK_SIZES = "16x16x16,8x24x16,33x17x9,5x40x8,40x40x24,64x8x8"
