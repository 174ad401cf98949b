"""`mltune source`: the source of a kernel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mltune.cli.output import print_json

EXAMPLE = "mltune source nvidia-h200/sgemm_nn 2"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "path",
        type=Path,
        metavar="PATH",
        help="a selector, a pack that ships (nvidia-h200/sgemm_nn), or a run folder",
    )
    add(
        "kernel",
        nargs="?",
        metavar="KERNEL",
        help="its name or a part of it; or its number: in a selector from 0 on, in a run a "
        "measurement's (default: a selector's first, or what is fastest on most sizes)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the source, and its description on stderr."""
    from mltune.workflow.source import kernel_text

    text = kernel_text(args.path, args.kernel)
    if args.json:
        print_json(text.to_json())
        return 0
    kernel = text.kernel
    if not args.quiet:
        chosen = f" ({text.chosen})" if text.chosen else ""
        print(f"{kernel.name}{chosen}", file=sys.stderr)
        print(f"build options: {' '.join(kernel.build_options)}", file=sys.stderr)
        if not text.is_as_measured:
            print("this mltune writes another source than the one measured", file=sys.stderr)
    sys.stdout.write(kernel.source)
    return 0
