from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from mltune.run.host import Host


def machine(root: Path, **files: str) -> Path:
    """A folder with copies of system files, named by the last part of their path."""
    places = {
        "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "boost": "sys/devices/system/cpu/cpufreq/boost",
        "no_turbo": "sys/devices/system/cpu/intel_pstate/no_turbo",
        "loadavg": "proc/loadavg",
    }
    for name, text in files.items():
        path = root / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_governor_boost_and_load_are_read(tmp_path: Path) -> None:
    host = Host.here(machine(tmp_path, governor="powersave", boost="1", loadavg="3.50 2 1 1/9 7"))

    assert (host.governor, host.boost, host.load) == ("powersave", "on", 3.5)


def test_intels_own_switch_is_read_the_other_way_round(tmp_path: Path) -> None:
    assert Host.here(machine(tmp_path, no_turbo="1")).boost == "off"


def test_a_machine_that_tells_nothing_is_described_without(tmp_path: Path) -> None:
    host = Host.here(tmp_path)

    assert (host.governor, host.boost, host.load) == ("", "", -1)
    assert not host.is_busy


def test_json_gives_the_same_host_back_and_older_runs_are_read() -> None:
    host = Host.here()
    old = {"python": "3.11.2", "platform": "Linux"}

    assert Host.from_json(asdict(host)) == host
    assert Host.from_json(old) == Host(python="3.11.2", platform="Linux")
    assert not Host.from_json(old).is_busy


def test_a_machine_is_busy_when_others_want_half_of_its_cores() -> None:
    def host(load: float) -> Host:
        return Host(python="", platform="", cores=4, load=load)

    assert host(2.5).is_busy
    assert not host(1.5).is_busy
