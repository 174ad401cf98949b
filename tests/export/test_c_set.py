"""One C library of several problem types."""

import ctypes
import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyopencl as cl
import pytest

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UsageError
from mltune.export import SET_WRITERS
from mltune.export.c.c_writer import CWriter
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.export.writer import Writer
from mltune.kernel import Kernel
from mltune.selector import Leaf, Split
from mltune.workflow.export import export_selectors
from tests.export.conftest import FAILING, CheckFiles, check_usage
from tests.selectors import entry_of
from tests.set_calls import BEGUN, NOT_HELD, check_set_calls

Make = Callable[..., Library]
Build = Callable[..., Path]
TYPES = (
    "sgemm_nn", "sgemm_tn_row", "sgemm_nt_batched", "dgemm_tt", "cgemm_nc", "zgemm_ct_row",
    "hgemm_nn", "hgemm_tt_batched",
)  # fmt: skip


def sources(make: Make, types: Sequence[str], folder: Path, name: str = "mltune") -> list[Path]:
    """Write a library of problem types, and return its C files without the example."""
    libraries = LibrarySet(name, tuple(make(each) for each in types))
    files = SET_WRITERS["c"].write(libraries, folder)
    return [file for file in files if file.suffix == ".c" and file.name != "example.c"]


def test_calls_of_any_problem_type_give_what_numpy_gives(
    tiled: Make, compile_shared: Build, queue: cl.CommandQueue, tmp_path: Path
) -> None:
    shared = compile_shared(tmp_path / "library.so", *sources(tiled, TYPES, tmp_path))

    lacking = check_set_calls(shared, "mltune", queue, random.Random(1), 150)

    # Row-major NT is column-major TN with A and B exchanged.
    assert not lacking & {"scnn", "srnn", "srtn", "scnt", "srct", "dctt", "drtt", "drcc"}
    assert not lacking & {"ccnc", "crcn", "zrct", "zctc", "hcnn", "hrnn", "hctt"}
    assert lacking  # many others are missing


def no_code(kernel: Kernel) -> Kernel:
    return replace(kernel, source="not OpenCL")


def too_much_local_memory(kernel: Kernel) -> Kernel:
    room = (
        "__local int room[1 << 28]; room[get_local_id(0)] = size_i; barrier(CLK_LOCAL_MEM_FENCE);"
        " if (room[get_local_id(0) + size_l] == 123456789) return;"
    )
    return replace(kernel, source=re.sub(r"(__kernel[^{]*\{)", rf"\1 {room}", kernel.source))


def too_large_work_groups(kernel: Kernel) -> Kernel:
    return replace(kernel, work_group=(2**20, 2, 1))  # its source says another one


@pytest.mark.parametrize("spoil", [no_code, too_much_local_memory, too_large_work_groups])
def test_a_kernel_that_cannot_run_is_replaced_by_another(
    spoil: Callable[[Kernel], Kernel],
    tiled: Make,
    compile_shared: Build,
    queue: cl.CommandQueue,
    tmp_path: Path,
) -> None:
    def broken(problem_type: str) -> Library:
        library = tiled(problem_type)
        first, *others = library.kernels
        return replace(library, kernels=(spoil(first), *others))

    files = sources(broken, ("sgemm_nn", "hgemm_nn_batched"), tmp_path)
    shared = compile_shared(tmp_path / "library.so", *files)

    lacking = check_set_calls(shared, "mltune", queue, random.Random(2), 400)

    assert not lacking & {"scnn", "srnn", "hcnn", "hrnn"}


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_the_example_checks_every_problem_type(
    sanitizer: str,
    tiled: Make,
    compile_opencl: Build,
    sanitize: Callable[[str], str],
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    files = sources(tiled, ("sgemm_nt", "cgemm_cn_row_batched", "hgemm_tn"), tmp_path)
    option = sanitize(sanitizer)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files, option)

    done = subprocess.run(
        [example, "33", "20", "47"],
        capture_output=True, text=True, check=False, env=opencl_environment,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[:3] for line in done.stdout.splitlines()] == [
        ["sgemm", "nt", "column-major"],
        ["sgemm", "tn", "row-major"],
        ["cgemm", "cn", "row-major"],
        ["cgemm", "nc", "column-major"],
        ["hgemm", "tn", "column-major"],
        ["hgemm", "nt", "row-major"],
    ]
    assert done.stdout.count(" right ") == 6


def test_the_example_shows_its_usage_for_what_is_no_size(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    files = sources(tiled, ("sgemm_nn",), tmp_path)
    example = compile_opencl(tmp_path / "example", tmp_path / "example.c", *files)

    usage = "usage: example [-d DEVICE] [M N K [BATCH]]\n"
    check_usage(example, usage, opencl_environment)


def test_wrong_arguments_are_named_by_their_places(
    tiled: Make, compile_shared: Build, queue: cl.CommandQueue, tmp_path: Path
) -> None:
    shared = ctypes.CDLL(
        str(compile_shared(tmp_path / "library.so", *sources(tiled, ("sgemm_nn",), tmp_path)))
    )
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 400)
    memory = ctypes.c_void_p(buffer.int_ptr)
    size, zero = ctypes.c_int64, ctypes.c_int64(0)
    right: list[object] = [
        *(ctypes.c_char(letter) for letter in (b"c", b"n", b"n")), *[size(10)] * 3,
        ctypes.c_float(1), memory, zero, size(10), memory, zero, size(10),
        ctypes.c_float(0), memory, zero, size(10),
        ctypes.c_void_p(queue.int_ptr), ctypes.c_uint32(0), None, None,
    ]  # fmt: skip
    wrong = {
        1: ctypes.c_char(b"x"), 2: ctypes.c_char(b"x"), 3: ctypes.c_char(b"\0"), 4: size(-1),
        5: size(2**31), 6: size(-3), 8: None, 9: size(-1), 10: size(9), 11: None, 12: size(-1),
        13: size(0), 15: None, 16: size(-1), 17: size(9), 18: None,
    }  # fmt: skip

    assert shared.mltune_sgemm(*right) == 0
    for place, value in wrong.items():
        given = list(right)
        given[place - 1] = value
        assert shared.mltune_sgemm(*given) == -place, place
    transposed = list(right)
    transposed[1] = ctypes.c_char(b"t")
    assert shared.mltune_sgemm(*transposed) == NOT_HELD
    # With batch and strides, arguments have the numbers of the longer declaration.
    batch = [*right[:6], size(2), right[6], *right[7:10], zero, *right[10:13], zero]
    batch += [right[13], *right[14:17], size(50), *right[17:]]
    assert shared.mltune_sgemm_batched(*batch) == -21  # the two matrices C overlap
    batch[20] = size(100)
    assert shared.mltune_sgemm_batched(*batch) == -18  # the buffer ends in the second C
    shared.mltune_release()


@pytest.mark.parametrize("error", ["OUT_OF_RESOURCES", "BUILD_PROGRAM_FAILURE"])
def test_a_call_that_fails_half_way_says_so(
    error: str, tiled: Make, compile_shared: Build, queue: cl.CommandQueue, tmp_path: Path
) -> None:
    files = [*sources(tiled, ("sgemm_nn", "sgemm_tt_batched"), tmp_path), FAILING]
    shared = ctypes.CDLL(
        str(compile_shared(tmp_path / "library.so", *files, "-Wl,--wrap=clEnqueueNDRangeKernel"))
    )
    left = ctypes.c_int.in_dll(shared, "launches_left")
    code = getattr(cl.status_code, error)
    ctypes.c_int.in_dll(shared, "launch_error").value = code
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 3 * 100)
    memory = ctypes.c_void_p(buffer.int_ptr)
    size, one, zero = ctypes.c_int64, ctypes.c_float(1), ctypes.c_int64(0)
    matrix = [memory, zero, size(10), size(100)]

    def call(trans: bytes, batch: int, launches: int) -> int:
        shared.mltune_release()  # kernels that were refused are not launched again
        letters = [ctypes.c_char(letter) for letter in (b"c", trans, trans)]
        given = [*letters, *[size(10)] * 3, size(batch), one, *matrix, *matrix, one, *matrix]
        left.value = launches
        status: int = shared.mltune_sgemm_batched(
            *given, ctypes.c_void_p(queue.int_ptr), ctypes.c_uint32(0), None, None
        )
        queue.finish()
        return status

    passes = next(n for n in range(9) if call(b"n", 1, n) == 0)
    assert passes > 1
    for trans, launches in ((b"n", 3 * passes), (b"t", passes)):
        found = [call(trans, 3, n) for n in range(launches + 1)]
        assert found == [-code, *[BEGUN - code] * (launches - 1), 0], trans
    shared.mltune_release()


@pytest.fixture
def failing(tiled: Make, counting: Make, compile_shared: Build, tmp_path: Path) -> ctypes.CDLL:
    """A library whose launches can be made to fail; its second kernel takes no scratch memory."""

    def make(problem_type: str) -> Library:
        library = tiled(problem_type)
        (first, small), (plain, large) = counting(problem_type).kernels, library.kernels
        kernels = [first, plain, small, large]
        portfolio = tuple(map(entry_of, kernels))
        tree = Split("mnk", 20_000, Leaf(2), Leaf(3))
        selector = replace(library.selector, portfolio=portfolio, exact=(), tree=tree)
        return Library.of(selector, kernels)

    files = [*sources(make, ("sgemm_nn",), tmp_path), FAILING]
    wrap = "-Wl,--wrap=clEnqueueNDRangeKernel"
    return ctypes.CDLL(str(compile_shared(tmp_path / "library.so", *files, wrap)))


def launch(
    failing: ctypes.CDLL, queue: cl.CommandQueue, extent: int, launches: int, error: str
) -> int:
    """Compute a square product of which only so many launches succeed, if it is not negative."""
    ctypes.c_int.in_dll(failing, "launches_left").value = launches
    ctypes.c_int.in_dll(failing, "launch_error").value = getattr(cl.status_code, error)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * extent**2)
    size, one = ctypes.c_int64, ctypes.c_float(1)
    matrix = [ctypes.c_void_p(buffer.int_ptr), size(0), size(extent)]
    letters = [ctypes.c_char(letter) for letter in b"cnn"]
    given = [*letters, *[size(extent)] * 3, one, *matrix, *matrix, one, *matrix]
    held = ctypes.c_void_p(queue.int_ptr)
    status: int = failing.mltune_sgemm(*given, held, ctypes.c_uint32(0), None, None)
    queue.finish()
    return status


def users_of(queue: cl.CommandQueue) -> int:
    """Return the references to a queue's context; PoCL drops a command's soon after its end."""
    counts = []
    for _ in range(15):
        counts.append(queue.context.reference_count)
        time.sleep(0.01)
    return min(counts)


def test_a_kernel_that_was_refused_is_launched_again_only_after_a_release(
    failing: ctypes.CDLL, queue: cl.CommandQueue
) -> None:
    error = "INVALID_WORK_GROUP_SIZE"
    code = -cl.status_code.INVALID_WORK_GROUP_SIZE

    assert launch(failing, queue, 10, 0, error) == code
    assert launch(failing, queue, 10, -1, error) == code
    failing.mltune_release()
    assert launch(failing, queue, 10, -1, error) == 0
    failing.mltune_release()


def test_scratch_memory_for_which_a_launch_failed_is_not_kept(
    failing: ctypes.CDLL, queue: cl.CommandQueue
) -> None:
    """Drivers may find out late that there is too little; smaller calls would fail, too."""
    error = "MEM_OBJECT_ALLOCATION_FAILURE"
    code = -cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE

    assert launch(failing, queue, 50, 0, error) == code  # builds all kernels that are tried
    assert launch(failing, queue, 40, -1, error) == 0
    users = users_of(queue)
    for launches, begun in ((0, 0), (1, BEGUN)):
        assert launch(failing, queue, 50, launches, error) == code + begun
        assert users_of(queue) == users - 1
        assert launch(failing, queue, 40, -1, error) == 0
        assert users_of(queue) == users
    ctypes.c_int.in_dll(failing, "failures_left").value = 1
    assert launch(failing, queue, 50, 0, error) == 0  # by the kernel that takes none
    assert users_of(queue) == users - 1
    failing.mltune_release()


def test_kernels_that_are_not_launched_leave_the_scratch_memory_of_others(
    failing: ctypes.CDLL, queue: cl.CommandQueue
) -> None:
    error = "INVALID_WORK_GROUP_SIZE"
    ctypes.c_int.in_dll(failing, "failures_left").value = 2

    assert launch(failing, queue, 50, 0, error) == 0  # by the third that is tried
    assert launch(failing, queue, 10, -1, error) == 0
    users = users_of(queue)
    assert launch(failing, queue, 50, -1, error) == 0
    assert users_of(queue) == users
    failing.mltune_release()


def test_strides_of_matrices_that_are_not_read_may_be_of_any_size(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    files = sources(tiled, ("sgemm_nn",), tmp_path)
    source = Path(__file__).with_name("strides.c")
    program = compile_opencl(tmp_path / "strides", source, *files, f"-I{tmp_path}")

    done = subprocess.run(
        [program], capture_output=True, text=True, check=False, env=opencl_environment
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_of_the_page_on_exported_libraries_runs(
    tiled: Make, compile_opencl: Build, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exported.md").read_text()
    program = tmp_path / "call.c"
    program.write_text(page.split("```c\n")[1].split("```")[0])
    files = sources(tiled, ("sgemm_nn",), tmp_path)

    built = compile_opencl(tmp_path / "call", "-Wextra", "-Werror", program, *files)
    done = subprocess.run(
        [built], capture_output=True, text=True, check=False, env=opencl_environment
    )

    assert (done.returncode, done.stdout) == (0, "status 0, C[0] = 512\n"), done.stderr


@pytest.mark.long
def test_compilers_find_nothing_to_warn_of(
    check_warnings: CheckFiles, tiled: Make, tmp_path: Path
) -> None:
    check_warnings([*sources(tiled, TYPES, tmp_path), tmp_path / "example.c"])


@pytest.mark.parametrize("tool", ["make", "cmake"])
@pytest.mark.usefixtures("compile_opencl")  # skips where there are no headers
def test_two_libraries_are_built_installed_and_linked_into_one_program(
    tool: str, tiled: Make, opencl_loader: Path, opencl_environment: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    linked = f"OPENCL_LIB={opencl_loader} -Wl,-rpath,{opencl_loader.parent}"
    installed = tmp_path / "installed"
    loader = f"-DOpenCL_LIBRARY={opencl_loader}"
    to = f"-DCMAKE_INSTALL_PREFIX={installed}"
    commands = {
        "make": [["make", "CFLAGS=-O2 -Werror", linked, "install", f"PREFIX={installed}"]],
        "cmake": [
            ["cmake", "-DCMAKE_C_FLAGS=-Werror", loader, to, "."],
            ["cmake", "--build", "."],
            ["cmake", "--install", "."],
        ],
    }

    def run(*command: str | Path, folder: Path) -> str:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False,
            env=opencl_environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for name, kind in (("mltune", "sgemm_nn"), ("mine", "sgemm_nn")):
        sources(tiled, (kind,), tmp_path / name, name)
        for command in commands[tool]:
            run(*command, folder=tmp_path / name)
    program = tmp_path / "program"
    program.mkdir()
    (program / "both.c").write_text(
        "#include <mine.h>\n#include <mltune.h>\n#include <stdio.h>\nint main(void)\n{\n"
        "    return puts(mine_type(0)) < 0 || mltune_type(1) != NULL;\n}\n"
    )
    if tool == "make":
        run(
            "cc", "both.c", f"-I{installed}/include", "../installed/lib/libmine.so",
            f"-L{installed}/lib", "-lmltune", str(opencl_loader),
            f"-Wl,-rpath,{installed}/lib:{opencl_loader.parent}", "-o", "both", folder=program,
        )  # fmt: skip
    else:
        (program / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.10)\nproject(both C)\nfind_package(mine REQUIRED)\n"
            "find_package(mltune REQUIRED)\nadd_executable(both both.c)\n"
            "target_link_libraries(both mine::mine mltune::mltune)\n"
        )
        run("cmake", loader, f"-DCMAKE_PREFIX_PATH={installed}", ".", folder=program)
        run("cmake", "--build", ".", folder=program)
    assert run(program / "both", folder=tmp_path) == "sgemm_nn\n"


@pytest.mark.usefixtures("compile_opencl")  # skips where there are no headers
def test_a_project_of_cmake_takes_libraries_of_all_layouts_as_folders(
    tiled: Make, opencl_loader: Path, tmp_path: Path
) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    names = ["mltune", "mine", "mltune_sgemm_nn", "mltune_sgemm_tn", "mltune_sgemm_tt"]
    for name in names[:2]:
        sources(tiled, ("sgemm_nn",), tmp_path / name, name)
    for name in names[2:]:
        library = tiled(name.removeprefix("mltune_"))
        writer: Writer = CWriter() if name.endswith("nn") else FullCWriter()
        writer.write(library.selector, library.kernels, tmp_path / name)
    lines = [
        "cmake_minimum_required(VERSION 3.10)",
        "project(all C)",
        "add_executable(example all.c)",
        "add_library(plugin SHARED all.c)",
    ]
    for name in names:
        lines.append(f"add_subdirectory({name})")
        lines += [f"target_link_libraries({to} {name}::{name})" for to in ("example", "plugin")]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    calls = "".join(f"    {name}_release();\n" for name in names)
    (tmp_path / "all.c").write_text(
        "".join(f'#include "{name}.h"\n' for name in names)
        + f"int main(void)\n{{\n{calls}    return 0;\n}}\n"
    )

    for command in ([f"-DOpenCL_LIBRARY={opencl_loader}", "."], ["--build", "."]):
        done = subprocess.run(
            ["cmake", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_one_selector_for_each_problem_type_and_a_name(tiled: Make, tmp_path: Path) -> None:
    selector = tiled("sgemm_nn").selector

    with pytest.raises(UsageError, match="two selectors are for sgemm_nn"):
        export_selectors([selector, selector], "c", tmp_path)
    with pytest.raises(UsageError, match=r"^--name: '4x' is no lower-case word"):
        export_selectors([selector], "c", tmp_path, name="4x")
    for taken in ("example", "cl", "clblast", "string", "stdarg", "locale", "install", "m"):
        with pytest.raises(UsageError, match=f"^--name: '{taken}' is a header or library of C"):
            export_selectors([selector], "c", tmp_path, name=taken)
    with pytest.raises(
        UsageError, match=r"--lang json takes one selector, got 2 \(several: c, cl"
    ):
        export_selectors([selector, tiled("sgemm_nt").selector], "json", tmp_path)
    with pytest.raises(UsageError, match="--lang c --layout full takes one"):
        export_selectors([selector, tiled("dgemm_nn").selector], "c", tmp_path, layout="full")
    with pytest.raises(UsageError, match=r"^--name: only c"):
        export_selectors([selector], "python", tmp_path, name="mine")


def test_the_same_set_gives_the_same_files(tiled: Make, tmp_path: Path) -> None:
    kinds = ("hgemm_nn", "sgemm_nn")
    first, second = (
        [file.read_bytes() for file in sources(tiled, kinds, tmp_path / folder)]
        for folder in ("one", "two")
    )
    assert first == second


@pytest.mark.parametrize(
    ("sanitizer", "learns"), [("address", False), ("thread", False), ("thread", True)]
)
def test_eight_threads_make_two_thousand_calls(
    sanitizer: str,
    learns: bool,
    tiled: Make,
    compile_opencl: Build,
    sanitize: Callable[[str], str],
    opencl_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    types = [f"{letter}gemm_{a}{b}" for letter in "sdh" for a in "nt" for b in "nt"]
    types = ["sgemm_nn"] if learns else types
    files = sources(tiled, types, tmp_path)
    threads = Path(__file__).with_name("set_threads.c")
    program = compile_opencl(
        tmp_path / "threads", threads, *files, f"-I{tmp_path}", sanitize(sanitizer)
    )
    # PoCL 3.1's default way to run work-groups (loopvec) sometimes gives wrong sums in single
    # precision, with one thread as with eight; its plain loops do not. The kernels built with
    # loops have a separate cache, which both sanitizers share.
    plain = f"{os.environ['POCL_CACHE_DIR']}-loops"
    way = {"POCL_WORK_GROUP_METHOD": "loops", "POCL_CACHE_DIR": plain}
    kept = {"MLTUNE_CACHE_DIR": str(tmp_path / "cache")}

    done = subprocess.run(
        [program, "2000", *[tmp_path / "learned.json"] * learns],
        capture_output=True, text=True, check=False, env=opencl_environment | way | kept,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 of 2000 calls wrong\n"
    if learns:
        assert json.loads((tmp_path / "learned.json").read_text())["learned"]
