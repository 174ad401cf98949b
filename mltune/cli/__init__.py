"""The command line: declare, call, print."""

from mltune.cli.main import main

__all__ = ["main"]
