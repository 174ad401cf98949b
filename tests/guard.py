"""Marks tests that need a device, keeps others from opening one, and picks the quick ones.

Contributors run `pytest -m "not device"` while they work: it takes a minute and needs no driver.
So it also leaves out tests with the marker `long`. A test that opens a device without the marker
`device` fails with a line that says so, and its child processes find no drivers. All other
expressions have pytest's meaning: `-m "long or not device"` runs everything that needs no driver.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from mltune.device.opencl.kind import OpenCLKind
from tests.sessions import IS_RECORDING, pack_sessions

DEVICE_FIXTURES = frozenset({"device_spec", "queue", "opencl_environment"})
"""Fixtures that open a device; every test that uses one gets the marker `device`."""

QUICK = "not device"
"""The expression that also leaves out `long`."""

_WORDS = "this test opens a device and is not marked: give it @pytest.mark.device"


def pytest_configure(config: pytest.Config) -> None:
    """Extend the quick expression, which is then short to type."""
    if config.option.markexpr == QUICK:
        config.option.markexpr = f"{QUICK} and not long"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the names of their fixtures."""
    for item in items:
        if DEVICE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("device")


def pytest_sessionfinish() -> None:
    """Pack the recorded sessions."""
    if IS_RECORDING:
        pack_sessions()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Guard tests without the marker, and their fixtures."""
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
