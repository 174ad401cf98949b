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


def test_a_message_is_one_line_whatever_it_quotes() -> None:
    quoted = "a\nb\0c\u2028d\udcffe" + "x" * 5000

    message = str(errors.UsageError(f"file: got '{quoted}', expected y"))

    assert message.isprintable()
    assert len(message) <= errors.LONGEST_MESSAGE + 50
    assert message.startswith("file: got 'a\\nb\\x00c\\u2028d\\udcffe")
    assert message.endswith("', expected y")
