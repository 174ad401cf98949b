"""The text of `--sizes`: extents, ranges, files and named suites."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mltune.errors import UsageError
from mltune.problem.size import Size, merge_sizes
from mltune.problem.size_file import read_size_file, transposes_in
from mltune.problem.size_text import looks_like_size, parse_size_text
from mltune.resources import data_folder
from mltune.unknown import meant


def parse_sizes(text: str) -> tuple[Size, ...]:
    """Read the value of `--sizes`; equal sizes are merged, the order is kept.

    Args:
        text: comma-separated; each part is `MxNxK[xB]` with a number or a range in each dimension
            (`start:stop[:step|*factor]`), the path of a CSV or YAML file, or the name of a suite.

    Raises:
        UsageError: when a part is none of these.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"sizes: expected sizes between the commas, got '{text}'")
    return merge_sizes(size for part in parts for size in _part(part))


def suite_names() -> tuple[str, ...]:
    """Return the names of the shipped suites, in alphabetical order."""
    return tuple(sorted(_suites()))


def _part(part: str) -> tuple[Size, ...]:
    if looks_like_size(part):
        return parse_size_text(part)
    path = Path(part)
    if path.suffix or len(path.parts) > 1:
        return read_size_file(path)
    suites = _suites()
    if part not in suites:
        raise UsageError(
            f"sizes: '{part}' is neither MxNxK nor a file nor a suite "
            f"({meant(part.lower(), suites)}suites: {', '.join(suite_names())})"
        )
    return _suite(*suites[part])


@cache
def _suite(path: Path, trans: str) -> tuple[Size, ...]:
    return read_size_file(path, trans)


@cache
def _suites() -> Mapping[str, tuple[Path, str]]:
    """Return each suite's file, and the transposes of its sizes; empty for all.

    A file with a column of transposes is also a suite for each of these.
    """
    files = {path.stem: path for path in (data_folder("spaces") / "sizes").glob("*.csv")}
    parts = {
        f"{name}-{trans}": (path, trans)
        for name, path in files.items()
        for trans in transposes_in(path)
    }
    return parts | {name: (path, "") for name, path in files.items()}
