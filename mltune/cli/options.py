"""Options that several verbs share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from mltune.cli.parser import seconds, whole

Add = Callable[..., argparse.Action]
"""A parser's `add_argument`, or that of a group of its options."""


def declare_builders(add: Add) -> None:
    """Add the option for processes that build ahead of the measurements."""
    add(
        "--builders",
        type=whole,
        metavar="N",
        help="processes that build ahead, 0 for none (default: as many as suit the machine)",
    )


def declare_limits(add: Add) -> None:
    """Add the options for the time limits of builds and sizes, and for the pause between sizes."""
    add(
        "--build-timeout",
        type=seconds,
        metavar="SECONDS",
        help="a build's limit, of processor time (default: 60)",
    )
    add("--run-timeout", type=seconds, metavar="SECONDS", help="a size's limit (default: 30)")
    add("--rest", type=seconds, metavar="SECONDS", help="pause before each size (default: none)")


def import_from_here(sampler: str | None) -> None:
    """Let `module:Class` name a file of the current folder.

    The folder comes last on the path, so that no file in it replaces a library.
    """
    if sampler is not None and ":" in sampler:
        sys.path.append(str(Path.cwd()))
