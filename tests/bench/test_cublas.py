from __future__ import annotations

from mltune.bench.cublas import MODES
from mltune.problem import Precision


def test_what_is_said_of_tf32_is_said_of_single_precision_only() -> None:
    assert set(MODES) == set(Precision)
    for precision, mode in MODES.items():
        is_single = precision in (Precision.SINGLE, Precision.COMPLEX_SINGLE)
        assert ("TF32" in mode) is is_single
