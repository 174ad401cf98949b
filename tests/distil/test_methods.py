from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mltune.distil import TimeTable
from mltune.distil.fit import Settings
from mltune.distil.methods import fit_single

MakeTable = Callable[..., TimeTable]


def test_a_single_kernel_is_right_on_as_many_sizes_as_any(make_table: MakeTable) -> None:
    table = make_table(20)
    seconds = table.seconds.copy()
    seconds[:, 3] = table.best / 5
    fast = replace(table, seconds=seconds)
    seconds[0, 3] = np.nan

    assert fit_single(fast, Settings()).portfolio == (3,)
    assert fit_single(replace(table, seconds=seconds), Settings()).portfolio != (3,)
