"""The command `mltune`: its verbs, and the exit codes of errors."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import keyword
import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import NoReturn

from mltune import __version__
from mltune.cli.parser import Parser
from mltune.cli.progress_bar import LogFormat, LogLines
from mltune.cli.streams import break_lines, open_closed, plain_output
from mltune.cli.terminal import columns, say
from mltune.cli.wrapping import wrapped
from mltune.errors import MltuneError, NoCorrectConfigError, NoDeviceError, UsageError

VERBS: dict[str, str] = {
    "tune": "search, distil, compare and export in one command, for a program's calls",
    "trace": "run a program and record its GEMM calls, for tune --for",
    "devices": "list the OpenCL devices, and what is wrong when there is none",
    "search": "search the kernel space by measuring on a device; makes a run",
    "report": "write a run as one HTML file with pictures and tables",
    "distil": "choose the few kernels worth shipping, and a rule that picks one by size",
    "export": "write what distil chose as a library in C, Python or Rust",
    "source": "print the OpenCL source of a kernel",
    "bench": "compare the tuned kernels with other libraries",
    "pack": "build, verify and list packs, the tuned kernels that ship for a device",
    "train": "learn from runs to predict the time of any kernel on any size",
    "predict": "list the kernels that should be fastest for a size, and measure them",
    "compare": "compare runs by the kernels that they share",
    "replay": "repeat one recorded measurement",
    "salvage": "save the readable rows of a damaged run",
    "convert": "convert a run or a file to another format",
    "import": "import bundles and other programs' files",
    "worker": "join a search that is kept in a shared database",
    "sweep": "measure hand-written kernels over orders and local sizes, as GEMMbench does",
    "protocol": "measure kernels by Tensile's seven steps, from its YAML file",
    "completion": "print shell completions of verbs and options",
}
"""The verbs in the order of the help, the way to a library first.

Each verb is the module of its name in `mltune.cli`, with EXAMPLE, `declare` and `run`.
"""

_FIRST_STEPS = """\
first steps:
  mltune devices        what there is to tune for
  mltune tune --problems sgemm_nn --time 2m
                        a library, in two minutes
  mltune VERB --help    a verb's options, with an example
Verbs that make something say at their end what to type next."""
_INTERRUPTED = 130
_COLLECTED = (50_000, 20, 100)
"""New objects after which Python looks for garbage, in place of 700, 10 and 10. Measurements are
hundreds of thousands of objects, and none of them is garbage. Looking through them took 3 % of the
time of `distil`, and sometimes delayed a search by 0.1 s.
"""
_EXIT_CODES: tuple[tuple[type[MltuneError], int], ...] = (
    (UsageError, 2),
    (NoCorrectConfigError, 3),
    (NoDeviceError, 4),
    (MltuneError, 1),
)


_VERBATIM = {"completion", "source"}
"""Verbs whose output is for programs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code.

    0 done, 1 failed, 2 wrong usage, 3 no config was right, 4 no usable device, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(*_COLLECTED)
    open_closed()
    with plain_output():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        for word in arguments:
            _check_text(word)
        args = _parse(arguments)
        _set_logging(args.verbose - args.quiet)
        if not args.json and args.verb not in _VERBATIM:
            break_lines()
        signal.signal(signal.SIGTERM, _interrupt)
        code = _module(args.verb).run(args)
        sys.stdout.flush()  # here, where an error can still be reported
        return int(code)
    except MltuneError as error:
        _complain(str(error))
        return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader has closed the pipe
        return 1
    except OSError as error:
        _drop_output()
        _complain(_os_error_line(error))
        return 2 if error.errno == errno.ENAMETOOLONG else 1  # no file exists there


def _check_text(word: str) -> None:
    """Refuse bytes that are no UTF-8, as records and exports contain names of files."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{word}: is no UTF-8 text, which names of files must be") from None


def _module(verb: str) -> ModuleType:
    """Return a verb's module; `import` is a keyword, so its module is `import_`."""
    return importlib.import_module(f"mltune.cli.{verb}{'_' * keyword.iskeyword(verb)}")


def _parse(arguments: list[str]) -> argparse.Namespace:
    match arguments:
        case [] | ["help"]:
            arguments = ["--help"]
        case ["help", *asked]:
            arguments = [*asked, "--help"]
    parser = Parser(
        prog="mltune",
        description="Tune OpenCL GEMM kernels and export them as code.",
        epilog=_FIRST_STEPS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"mltune {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,  # an example is one line
        )
        if verb in arguments:  # the list of verbs needs none of their modules
            _declare(sub, _module(verb))
    return parser.parse_args(arguments)


def parser_of(verb: str) -> Parser:
    """Return the parser of one verb's options."""
    parser = Parser(prog=f"mltune {verb}")
    _declare(parser, _module(verb))
    return parser


def _declare(parser: Parser, module: ModuleType) -> None:
    parser.epilog = f"example: {module.EXAMPLE}"
    module.declare(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document only")
    parser.add_argument("-q", "--quiet", action="count", default=0, help="say less")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")


def _set_logging(verbosity: int) -> None:
    level = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}
    lines = LogLines()
    lines.setFormatter(LogFormat())
    logging.basicConfig(
        handlers=[lines],
        level=level.get(max(verbosity, -1), logging.DEBUG),
        force=True,
    )
    # Python's warnings are for developers. scikit-learn replaces the list of what is ignored while
    # it works in a thread, and may leave it empty: a search on a GPU then printed 37,000 lines.
    logging.captureWarnings(capture=True)
    logging.getLogger("py.warnings").setLevel(logging.ERROR if verbosity < 1 else logging.WARNING)
    # A second Ctrl-C may interrupt a rollback; its traceback is logged there, and it is raised on.
    logging.getLogger("sqlalchemy.pool").setLevel(
        logging.CRITICAL if verbosity < 1 else logging.NOTSET
    )


def _complain(line: str) -> None:
    head = "mltune: "
    first, *others = wrapped(head + " ".join(line.split("\n")), columns(sys.stderr))
    said = first.removeprefix(head.rstrip()).lstrip()  # empty if a path fills the next line
    say((head, "bad"), (said, ""), stream=sys.stderr)
    for each in others:
        print(each, file=sys.stderr)


def _os_error_line(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    hint = " (free some space and try again)" if error.errno == errno.ENOSPC else ""
    return f"{where}{error.strerror or error}{hint}"


def _drop_output() -> None:
    """Discard unflushed output, which Python would try to write again at its end."""
    with contextlib.suppress(OSError):  # the stream need not be a real file
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
