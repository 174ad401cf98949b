"""What `mltune devices` says to do next."""

from __future__ import annotations

import pytest

from mltune.device import DeviceEntry
from tests.cli.conftest import Command
from tests.devices import CPU

SEARCH, DOCTOR = "mltune search", "next: mltune devices --doctor"


@pytest.mark.parametrize(
    ("problems", "wanted", "unwanted"),
    [(("it hangs",), DOCTOR, SEARCH), (("it hangs", ""), SEARCH, DOCTOR)],
)
def test_a_search_is_proposed_where_a_device_can_be_used(
    mltune: Command,
    monkeypatch: pytest.MonkeyPatch,
    problems: tuple[str, ...],
    wanted: str,
    unwanted: str,
) -> None:
    entries = tuple(
        DeviceEntry("opencl", f"0:{number}", CPU, problem)
        for number, problem in enumerate(problems)
    )
    monkeypatch.setattr("mltune.workflow.devices.devices", lambda: entries)

    said = mltune("devices")

    assert said.code == 0
    assert "device 0:0 cannot be used: it hangs" in said.out
    assert wanted in said.out
    assert unwanted not in said.out
