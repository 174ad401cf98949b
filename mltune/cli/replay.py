"""`mltune replay`: one measurement again."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.output import print_json, print_table
from mltune.cli.parser import positive

EXAMPLE = "mltune replay runs/2026-11-29-sgemm-nn-nvidia-h200 17"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="a run folder")
    add("id", type=positive, metavar="ID", help="a measurement's number in it")
    add("--device", metavar="D", help="where to repeat it (default: the run's device)")


def run(args: argparse.Namespace) -> int:
    """Repeat the measurement, and print both results."""
    from mltune.workflow.replay import replay

    result = replay(args.run_folder, args.id, args.device)
    if args.json:
        print_json(result.to_json())
        return 0
    print_table(("size", "kernel"), [(result.recorded.problem.label, result.recorded.kernel)])
    print_table(
        ("", "status", "kernel ms", "GFLOP/s", "max error", "bound", "device", "driver", "when"),
        [
            (
                name,
                m.status.value,
                None if m.median is None else m.median * 1e3,
                m.gflops,
                m.max_error,
                m.error_bound,
                m.device,
                m.driver,
                m.timestamp,
            )
            for name, m in (("recorded", result.recorded), ("repeated", result.repeated))
        ],
    )
    print(result.verdict)
    return 0
