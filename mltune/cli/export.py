"""`mltune export`: a library to ship."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from mltune.cli.output import print_json
from mltune.cli.parser import names
from mltune.counted import counted

EXAMPLE = "mltune export nvidia-h200/sgemm_nn --lang c -o tuned-c"
_KERNELS = ("opencl", "kernel_sources")  # folders with a file per kernel
_NEXT = {
    "c": "make -C {folder} && {folder}/example",
    "clblast": "make -C {folder}",
    "python": "pip install {folder}",
    "rust": "cargo doc --open --manifest-path {folder}/Cargo.toml",
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    from mltune.export import LANGUAGES

    add = parser.add_argument
    add(
        "selector",
        type=Path,
        nargs="+",
        metavar="SELECTOR",
        help="what mltune distil wrote, a pack that ships (nvidia-h200/sgemm_nn), or all packs of "
        "a device (nvidia-h200); several become one library",
    )
    known = ", ".join(LANGUAGES)
    add("--lang", required=True, metavar="LANGUAGE", help=f"one of {known}")
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the library's folder")
    add(
        "--name",
        metavar="WORD",
        help="prefix of all names in a library of several selectors (default: mltune)",
    )
    add(
        "--layout",
        default="compact",
        metavar="WORD",
        help="of C: compact, or full: AutoGEMM's files, with a source file for each kernel, "
        "selection by tile and kernels as binaries (default: compact)",
    )
    add(
        "--precompile",
        type=names,
        default=(),
        metavar="LIST",
        help="kernels that `make precompile` compiles, by precision and transposes: s, nn, "
        "sgemm_nn or all, separated by commas; needs --layout full (default: none)",
    )
    add(
        "--user-kernels",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="OpenCL sources that replace the kernels of the same names; needs "
        "--layout full (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Export, and print what was written."""
    from mltune.shell import no_c_compiler, pip_path, shell_path
    from mltune.workflow.export import export_selectors

    result = export_selectors(
        args.selector,
        args.lang,
        args.output,
        name=args.name,
        layout=args.layout,
        precompile=args.precompile,
        user_kernels=args.user_kernels,
    )
    for warning in result.warnings:
        print(f"mltune: warning: {warning}", file=sys.stderr)
    if args.json:
        print_json(result.to_json())
        return 0
    kernels = Counter(path.parent for path in result.files if path.parent.name in _KERNELS)
    for path in result.files:
        if path.parent not in kernels:
            print(path)
    for folder, count in kernels.items():
        print(f"{folder}/: {counted(count, 'kernel')}")
    if args.lang in _NEXT:
        place = (pip_path if args.lang == "python" else shell_path)(args.output)
        print()
        if args.lang == "c" and (lacking := no_c_compiler()):
            print(lacking)
        print(f"next: {_NEXT[args.lang].format(folder=place)}")
    return 0
