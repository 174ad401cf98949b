"""Marks the tests that need a device, keeps all others from opening one, and picks the quick ones.

`pytest -m "not device"` is what contributors run while they work: a minute, and no driver. So it
leaves out tests with the marker `long`, and a test that opens a device without the marker
`device` fails, with a line that says so; in its child processes there are no drivers. All other
expressions mean what they say: `-m "long or not device"` is all that needs no driver.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from mltune.device.opencl.kind import OpenCLKind
from tests.sessions import IS_RECORDING, pack_sessions

DEVICE_FIXTURES = frozenset({"device_spec", "queue", "opencl_environment"})
"""The fixtures that stand for a device; who uses one of them needs one."""

QUICK = "not device"
"""The expression that leaves out `long`, too."""

_WORDS = "this test opens a device and is not marked: give it @pytest.mark.device"


def pytest_configure(config: pytest.Config) -> None:
    """Let the quick command be short to type."""
    if config.option.markexpr == QUICK:
        config.option.markexpr = f"{QUICK} and not long"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by the names of fixtures."""
    for item in items:
        if DEVICE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("device")


def pytest_sessionfinish() -> None:
    """Pack what was recorded."""
    if IS_RECORDING:
        pack_sessions()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the tests that have no marker, with their fixtures."""
    if item.get_closest_marker("device") or IS_RECORDING:
        return (yield)
    with _no_device():
        return (yield)


@contextmanager
def _no_device() -> Iterator[None]:
    def refuse(*_: object) -> None:
        pytest.fail(_WORDS, pytrace=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OCL_ICD_VENDORS", f"/{_WORDS.replace(' ', '-')}")
        for name in ("entries", "open"):
            patch.setattr(OpenCLKind, name, refuse)
        for name in ("Context", "create_some_context", "get_platforms"):
            if "pyopencl" in sys.modules:
                patch.setattr(sys.modules["pyopencl"], name, refuse)
        yield
