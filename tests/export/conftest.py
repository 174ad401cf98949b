"""Selectors with kernels, and fixtures that build and run exported C."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import pyopencl
import pytest

from mltune.export.library import Library
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, parse_problem_type
from mltune.selector import Leaf, Regret, Selector, Split, Tree
from mltune.space.config import Config
from tests.pocl import pocl_driver
from tests.selectors import entry_of

Make = Callable[..., Library]
Build = Callable[..., Path]
CheckFiles = Callable[[Iterable[Path]], None]

SMALL: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 1, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
FAILING = Path(__file__).with_name("failing.c")
SANITIZE = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")


@pytest.fixture(scope="module", autouse=True)
def compiled_soon(not_optimised: None) -> None:
    """Let kernels compile quickly: these tests are about the code around the kernels."""


def _missing(what: str, language: str = "C") -> None:
    """Skip, or fail if the tests of a language must run."""
    if os.environ.get(f"MLTUNE_REQUIRE_{language}") == "1":
        pytest.fail(f"MLTUNE_REQUIRE_{language}=1, but {what}")
    pytest.skip(what)


def _library(
    contraction: Contraction, kernels: list[Kernel], tree: Tree, sizes: Mapping[str, object]
) -> Library:
    selector = Selector(
        contraction=contraction,
        portfolio=tuple(map(entry_of, kernels)),
        tree=tree,
        **sizes,  # type: ignore[arg-type]  # exact, regret, conditions
    )
    return Library.of(selector, kernels)


@pytest.fixture(scope="session")
def tiled() -> Make:
    """A library of two real kernels for a problem type: of one to four passes, and of two."""

    def make(problem_type: str) -> Library:
        contraction = parse_problem_type(problem_type)
        kernels = [
            FAMILIES["tiled"].generate(contraction, Config.of({**SMALL, **changed}))
            for changed in (
                {"edge_type": "remainder"},
                {"thread_tile_0": 4, "vector_width": 2, "global_split_u": 3},
            )
        ]
        return _library(
            contraction,
            kernels,
            Split("mnk", 50_000, Leaf(0), Leaf(1)),
            {
                "exact": (((7, 5, 3, 1), 1),),
                "regret": Regret(
                    sizes=9, geomean=0.9737, p10=0.91, worst=0.8, worst_size="70x5x300"
                ),
                "conditions": (("device", "PoCL"), ("date", "2026-11-21")),
            },
        )

    return make


@pytest.fixture(scope="session")
def walking() -> Make:
    """A library of kernels whose work-groups walk over C, one of them with two passes."""

    def make(problem_type: str) -> Library:
        contraction = parse_problem_type(problem_type)
        kernels = [
            FAMILIES["tiled"].generate(
                contraction, Config.of({**SMALL, "persistent_kernel": 2, "stream_k": stream_k})
            )
            for stream_k in (0, 1)
        ]
        return _library(contraction, kernels, Split("mnk", 50_000, Leaf(0), Leaf(1)), {})

    return make


@pytest.fixture(scope="session")
def counting() -> Make:
    """A library of two kernels whose work-groups count themselves."""

    def make(problem_type: str) -> Library:
        contraction = parse_problem_type(problem_type)
        changed: dict[str, int | str] = {
            "global_split_u": 3,
            "global_split_u_algorithm": "multiple_single_kernel",
        }
        kernels = [
            FAMILIES["tiled"].generate(
                contraction, Config.of({**SMALL, **changed, "thread_tile_0": rows})
            )
            for rows in (2, 4)
        ]
        return _library(contraction, kernels, Split("mnk", 50_000, Leaf(0), Leaf(1)), {})

    return make


@pytest.fixture(scope="session")
def chooser() -> Make:
    """A library for choosing only: its kernels do nothing."""

    def make(tree: Tree, number: int, **others: object) -> Library:
        contraction = parse_problem_type("sgemm_nn")
        kernels = [
            Kernel(
                name=f"kernel_{index}",
                family="none",
                contraction=contraction,
                config=Config.of({"number": index}),
                source=f"__kernel void kernel_{index}(void) {{}}\n",
                build_options=(),
                work_group=(1, 1, 1),
                macro_tile=(1, 1),
            )
            for index in range(number)
        ]
        return _library(contraction, kernels, tree, others)

    return make


@pytest.fixture(scope="session")
def compile_c() -> Build:
    """Compile C99 without OpenCL, warnings as errors."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        _missing("there is no C compiler (Debian: apt-get install gcc)")

    def build(program: Path, *arguments: Path | str) -> Path:
        command = [compiler, *STRICT, "-O1", *SANITIZE, "-o", program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # type: ignore[arg-type]
        assert done.returncode == 0, done.stderr
        return program

    return build


@pytest.fixture(scope="session")
def compile_opencl(
    compile_c: Build, opencl_loader: Path, tmp_path_factory: pytest.TempPathFactory
) -> Build:
    """Compile C99 against OpenCL's headers and the loader in pyopencl's wheel."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "probe.c").write_text("#include <CL/cl.h>\nint main(void) { return 0; }\n")
    define = "-DCL_TARGET_OPENCL_VERSION=120"
    try:
        compile_c(folder / "probe", folder / "probe.c", define)
    except AssertionError:
        _missing("there are no OpenCL headers (Debian: apt-get install opencl-c-headers)")

    def build(program: Path, *arguments: Path | str) -> Path:
        linked = (str(opencl_loader), f"-Wl,-rpath,{opencl_loader.parent}", "-lpthread", "-lm")
        return compile_c(program, *arguments, *linked)

    return build


@pytest.fixture(scope="session")
def sanitize(
    compile_opencl: Build, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Return the compiler's option for a sanitizer; skip if such programs do not run."""
    folder = tmp_path_factory.mktemp("sanitizers")
    (folder / "nothing.c").write_text("int main(void)\n{\n    return 0;\n}\n")

    @cache
    def runs(option: str) -> bool:
        nothing = compile_opencl(folder / "nothing", folder / "nothing.c", option)
        return subprocess.run([nothing], capture_output=True, check=False).returncode == 0

    def option(sanitizer: str) -> str:
        option = f"-fsanitize={sanitizer}"
        if not runs(option):
            pytest.skip(f"the {sanitizer} sanitizer does not run on this kernel")
        return option

    return option


@pytest.fixture(params=["gcc", "clang"])
def check_warnings(request: pytest.FixtureRequest, compile_opencl: Build) -> CheckFiles:
    """Fails if a compiler finds something to warn of; skips without the headers of OpenCL."""
    if shutil.which(request.param) is None:
        pytest.skip(f"needs {request.param}")
    strict = (*STRICT, "-Wshadow", "-Wconversion", "-Wcast-qual", "-fsyntax-only")

    def check(files: Iterable[Path]) -> None:
        done = subprocess.run(
            [request.param, *strict, *files], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")

    return check


@pytest.fixture(scope="session")
def rustc() -> str:
    """The Rust compiler; skip if rustup's `rustc` has no compiler behind it."""
    compiler = shutil.which("rustc")
    asked = [compiler or "false", "--version"]
    if subprocess.run(asked, capture_output=True, check=False).returncode != 0:
        _missing("there is no Rust compiler (https://rustup.rs)", "RUST")
    return str(compiler)


@pytest.fixture(scope="session")
def cargo(rustc: str) -> str:
    """Cargo; skip if there is none, or no compiler."""
    found = shutil.which("cargo")
    if found is None:
        _missing("there is no cargo (https://rustup.rs)", "RUST")
    return str(found)


@pytest.fixture(scope="session")
def compile_crate(
    cargo: str, opencl_loader: Path, tmp_path_factory: pytest.TempPathFactory
) -> Build:
    """Build an exported crate with a program that uses it, warnings as errors."""
    folder = tmp_path_factory.mktemp("opencl")
    (folder / "libOpenCL.so").symlink_to(opencl_loader)
    linked = ["-L", str(folder), "-C", f"link-arg=-Wl,-rpath,{opencl_loader.parent}"]

    def build(crate: Path, program: str) -> Path:
        (crate / "examples").mkdir()
        (crate / "examples" / "program.rs").write_text(program)
        done = subprocess.run(
            [cargo, "build", "--offline", "--quiet", "--example", "program"],
            cwd=crate, capture_output=True, text=True, check=False,
            env={**os.environ, "RUSTFLAGS": " ".join(["-D", "warnings", *linked])},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return crate / "target" / "debug" / "examples" / "program"

    return build


@pytest.fixture(scope="session")
def compile_shared(opencl_loader: Path, compile_opencl: Build) -> Build:
    """Compile a shared library that this process loads, so without sanitizers."""
    compiler = shutil.which("gcc") or shutil.which("cc") or ""

    def build(shared: Path, *files: Path | str) -> Path:
        command: list[str | Path] = [compiler, *STRICT, "-O2", "-shared", "-fPIC", "-o", shared]
        command += [*files, opencl_loader]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return shared

    return build


@pytest.fixture(scope="session")
def opencl_loader() -> Path:
    """The OpenCL loader that pyopencl brings."""
    home = Path(pyopencl.__file__).parent
    found = sorted(home.glob(".libs/libOpenCL*.so*")) + sorted(
        (home.parent / "pyopencl.libs").glob("libOpenCL*.so*")
    )
    if not found:
        _missing("pyopencl's wheel has no OpenCL loader to link")
    return found[0]


@pytest.fixture(scope="module")
def opencl_environment(
    tmp_path_factory: pytest.TempPathFactory, not_optimised: None
) -> dict[str, str]:
    """The environment in which a C program finds one PoCL: pip's, or else the system's."""
    driver = pocl_driver()
    if driver is None:
        _missing("PoCL is not installed")
    # PoCL may still be compiling when a program ends. Its memory is then no leak of the exported
    # code, which is C and never calls `new`.
    leaks = tmp_path_factory.mktemp("leaks") / "suppressions"
    leaks.write_text("leak:libpocl\nleak:operator new\n", encoding="utf-8")
    return {
        **os.environ,
        "LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0",
        "OCL_ICD_VENDORS": str(driver),
        # Without it the loader in pyopencl's wheel crashes.
        "PYOPENCL_HOME": str(Path(pyopencl.__file__).parent),
    }


@pytest.fixture
def run(opencl_environment: dict[str, str]) -> Callable[..., str]:
    """Run a program, and return what it printed with its exit status in front."""

    def start(*command: object) -> str:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True, text=True, check=False, env=opencl_environment,
        )  # fmt: skip
        return f"{done.returncode} {done.stdout}{done.stderr}"

    return start


def check_usage(example: Path, usage: str, environment: Mapping[str, str]) -> None:
    """Call an exported example with what is no size, and compare what it says."""
    for given in ("a b c", "0 5 5", "5 -5 5", "5 5 5x", "5 5"):
        done = subprocess.run(
            [example, *given.split()],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (1, "", usage), given
