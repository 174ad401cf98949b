from __future__ import annotations

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.problem import Precision


@pytest.mark.parametrize("precision", list(Precision))
def test_bytes_and_epsilon_are_numpys(precision: Precision) -> None:
    dtype = np.dtype(precision.dtype)

    assert precision.bytes == dtype.itemsize
    assert precision.epsilon == np.finfo(dtype).eps
    assert precision.is_complex == (dtype.kind == "c")
    assert precision.is_double == (np.finfo(dtype).bits == 64)


@pytest.mark.parametrize("precision", list(Precision))
def test_letters_and_names_are_read(precision: Precision) -> None:
    assert Precision.parse(precision.letter.upper()) is precision
    assert Precision.parse(precision.name.lower().replace("_", "-")) is precision


def test_unknown_precision_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"precision: unknown 'quad' \(known: h \(half\), s "):
        Precision.parse("quad")
