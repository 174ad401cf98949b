"""`mltune devices`: the devices of this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from mltune.cli.output import print_json, print_table

if TYPE_CHECKING:
    from mltune.device.doctor import Finding

EXAMPLE = "mltune devices --json"
_SEARCH = "mltune search --budget 60 --device auto"
_DOCTOR = "mltune devices --doctor, which prints the command that fixes it"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        "--environment",
        action="store_true",
        help="say what to fix before a serious run: other work, governor, clocks",
    )
    parser.add_argument(
        "--doctor",
        action="store_true",
        help="say why a device does not work, and print the command that fixes it",
    )


def run(args: argparse.Namespace) -> int:
    """List the devices."""
    from mltune.workflow.devices import devices, doctor, environment

    if args.environment:
        return _print_environment(environment(), as_json=args.json)
    if args.doctor:
        return _print_findings(doctor(), as_json=args.json)
    found = devices()
    if args.json:
        rows = [
            {
                "spec": entry.number,
                "problem": entry.problem,
                "notes": list(entry.notes),
                **entry.info.to_json(),
            }
            for entry in found
        ]
        print_json({"devices": rows})
        return 0
    print_table(
        ("device", "name", "kind", "units", "MHz", "local KiB", "group", "fp64", "fp16", "driver"),
        [
            (
                entry.number,
                entry.info.name,
                entry.info.kind,
                entry.info.compute_units,
                entry.info.clock_mhz,
                entry.info.local_mem_bytes // 1024,
                entry.info.max_work_group_size,
                "yes" if entry.info.fp64 else "no",
                "yes" if entry.info.fp16 else "no",
                f"{entry.info.platform} {entry.info.driver_version}",
            )
            for entry in found
        ],
    )
    for entry in found:
        if entry.problem:
            print(f"device {entry.number} cannot be used: {entry.problem}")
        for note in entry.notes:
            print(note)
    usable = any(not entry.problem for entry in found)
    print(f"\nnext: {_SEARCH if usable else _DOCTOR}")
    return 0


def _print_findings(found: Sequence[Finding], *, as_json: bool) -> int:
    if as_json:
        print_json({"findings": [asdict(each) for each in found]})
        return 0
    for each in found:
        print(f"{each.problem}\n    {each.command}")
    if not found:
        print("nothing is wrong; see the devices: mltune devices")
    return 0


def _print_environment(found: Sequence[tuple[str, Sequence[str]]], *, as_json: bool) -> int:
    if as_json:
        print_json({"environment": {spec: list(lines) for spec, lines in found}})
        return 0
    for spec, lines in found:
        for line in lines or ("nothing to be fixed",):
            print(f"{spec}  {line}")
    return 0
