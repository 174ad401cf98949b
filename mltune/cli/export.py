"""`mltune export`: code to ship."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mltune.cli.output import print_json

EXAMPLE = "mltune export models/nvidia-h200/sgemm_nn --lang c -o tuned-c"
_NEXT = {
    "c": "make -C {folder} && {folder}/example",
    "python": "pip install {folder}",
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("selector", type=Path, metavar="SELECTOR", help="what mltune distil wrote")
    add("--lang", required=True, metavar="LANGUAGE", help="c or python")
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the library's folder")


def run(args: argparse.Namespace) -> int:
    """Export, and say what was made."""
    from mltune.workflow.export import export_selector

    result = export_selector(args.selector, args.lang, args.output)
    for warning in result.warnings:
        print(f"mltune: warning: {warning}", file=sys.stderr)
    if args.json:
        print_json(result.to_json())
        return 0
    for path in result.files:
        print(path)
    if args.lang in _NEXT:
        print(f"\nnext: {_NEXT[args.lang].format(folder=args.output)}")
    return 0
