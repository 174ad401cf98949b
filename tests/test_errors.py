from __future__ import annotations

import pytest

from mltune import errors


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (errors.UsageError, errors.MltuneError),
        (errors.UnsupportedError, errors.UsageError),
        (errors.NoCorrectConfigError, errors.MltuneError),
        (errors.NoDeviceError, errors.MltuneError),
    ],
)
def test_every_error_is_an_mltune_error(child: type[Exception], parent: type[Exception]) -> None:
    assert issubclass(child, parent)
    assert str(child("what went wrong")) == "what went wrong"
