"""The kernels of a protocol as the text of a space, for the run and later stages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mltune.compat.tensile.complete import in_order, possible_values
from mltune.compat.tensile.protocol import Group
from mltune.space.config import Config, Value

_TEXT = """\
name: {name}
family: tiled
about: Every value that a parameter has there, within the limits of the device.

parameters:
{parameters}

derived:
  macro_tile_0: work_group_0 * thread_tile_0
  macro_tile_1: work_group_1 * thread_tile_1
  rows: (macro_tile_0 + local_pad + macro_tile_1 + {pad_b}) * depth_u * {buffers}
  handed: (local_split_u - 1) * work_group_0 * work_group_1 * thread_tile_0

constraints:
  work_group_size: work_group_0 * work_group_1 * local_split_u <= max_work_group_size
  work_group_shape: work_group_0 <= max_work_item_size_0 and work_group_1 <= max_work_item_size_1
  slices: local_split_u <= max_work_item_size_2 and depth_u % local_split_u == 0
  local_memory: (rows + handed) * bytes <= local_mem_bytes
"""


def space_text(name: str, groups: Sequence[Group]) -> str:
    """Write the space of some groups' kernels."""
    return _text(name, possible_values(choice for group in groups for choice in group.choices))


def space_of_configs(name: str, configs: Sequence[Config]) -> str:
    """Write the space of all combinations of the values that some configs have."""
    return _text(
        name,
        {
            parameter: in_order({config[parameter] for config in configs})
            for parameter in configs[0]
        },
    )


def _text(name: str, values: Mapping[str, Sequence[Value]]) -> str:
    lines = (
        f"  {parameter}: {{values: [{', '.join(map(str, listed))}]}}"
        for parameter, listed in values.items()
    )
    return _TEXT.format(
        name=json.dumps(name, ensure_ascii=False),
        parameters="\n".join(lines),
        pad_b="local_pad_b" if "local_pad_b" in values else "local_pad",
        buffers="local_buffers" if "local_buffers" in values else "1",
    )
