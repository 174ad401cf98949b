"""Reads files from any source: regular files only, within limits, or one line with the reason."""

from mltune.reading.file import read_bytes, read_text
from mltune.reading.gzipped import GZIP, read_packed, unpack
from mltune.reading.json_text import check_density, parse_json

__all__ = [
    "GZIP",
    "check_density",
    "parse_json",
    "read_bytes",
    "read_packed",
    "read_text",
    "unpack",
]
