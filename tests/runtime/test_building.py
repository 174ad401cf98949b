"""Binaries on disk: the next process uses them, unless another user could have written them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from mltune.runtime import building
from mltune.runtime.building import BuildError, build

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="nothing is kept there")
SOURCE = "__kernel void fill(__global int *x) { x[get_global_id(0)] = NUMBER; }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "binaries"


def filled(queue: cl.CommandQueue, number: int = 7) -> int:
    (kernel,) = build(queue, "fill", SOURCE, [f"-DNUMBER={number}"], ["fill"], two_steps=False)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
    kernel(queue, (1,), None, buffer)
    found = np.zeros(1, np.int32)
    cl.enqueue_copy(queue, found, buffer)
    return int(found[0])


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were compiled."""
    compiled: list[str] = []
    real = cl.Program

    def program(context: cl.Context, given: object, *binaries: object) -> object:
        if isinstance(given, str):
            compiled.append(given)
        return real(context, given, *binaries)  # type: ignore[call-overload]

    monkeypatch.setattr(cl, "Program", program)
    return compiled


def test_what_was_built_is_not_compiled_again(
    queue: cl.CommandQueue, folder: Path, sources: list[str]
) -> None:
    assert [filled(queue), filled(queue), filled(queue, 8), filled(queue)] == [7, 7, 8, 7]

    assert len(sources) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600] * 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "swapped"])
def test_a_damaged_file_is_written_again(
    damage: str, queue: cl.CommandQueue, folder: Path, sources: list[str]
) -> None:
    filled(queue)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(
        {
            "cut": whole[:-20], "flipped": whole[:-20] + b"x" + whole[-19:], "empty": b"",
            "swapped": whole.replace(whole[16:48], bytes(32)),
        }[damage]
    )  # fmt: skip

    assert filled(queue) == 7
    assert len(sources) == 2
    assert len(file.read_bytes()) > 48
    assert filled(queue) == 7
    assert len(sources) == 2


def test_what_a_stranger_could_have_written_is_not_used(
    queue: cl.CommandQueue, folder: Path, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(queue)
    (file,) = folder.iterdir()
    for path, mode in ((file, 0o620), (file, 0o602), (folder, 0o770), (folder, 0o703)):
        before, count = path.stat().st_mode, len(sources)
        path.chmod(mode)
        assert filled(queue) == 7
        assert len(sources) == count + 1, (path, mode)
        path.chmod(before)
        if not path.is_dir():  # a new one was written in its place
            assert file.stat().st_mode & 0o777 == 0o600
    count = len(sources)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert filled(queue) == 7
    assert len(sources) == count + 1


def test_links_are_not_followed(
    queue: cl.CommandQueue, folder: Path, sources: list[str], tmp_path: Path
) -> None:
    filled(queue)
    (file,) = folder.iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert filled(queue) == 7
    assert len(sources) == 2
    assert not file.is_symlink()
    folder.rename(tmp_path / "folder")
    folder.symlink_to(tmp_path / "folder")
    assert filled(queue) == 7
    assert len(sources) == 3


def test_a_folder_that_cannot_be_made_costs_nothing(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for named in (str(tmp_path / "file"), str(tmp_path / "file" / "x"), "", "/proc/none"):
        monkeypatch.setenv("MLTUNE_CACHE_DIR", named)
        assert filled(queue) == 7


def test_any_number_may_write_at_once(queue: cl.CommandQueue, folder: Path) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(filled(queue, n % 3) - n % 3))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [0] * 12
    assert len(list(folder.iterdir())) == 3  # and no temporary files


def test_another_driver_or_option_is_another_binary(queue: cl.CommandQueue) -> None:
    class Other:
        driver_version = "another"

        def __getattr__(self, name: str) -> object:
            return getattr(queue.device, name)

    names = {
        building._key(queue.device, SOURCE, ["-a"], False),
        building._key(queue.device, SOURCE, ["-b"], False),
        building._key(queue.device, SOURCE, ["-a"], True),
        building._key(Other(), SOURCE, ["-a"], False),  # type: ignore[arg-type]
    }
    assert len(names) == 4


def test_too_much_local_memory_is_refused_before_it_runs(queue: cl.CommandQueue) -> None:
    count = queue.device.local_mem_size
    source = (
        f"__kernel void fill(__global int *x) {{ __local int all[{count}];"
        " all[get_local_id(0)] = x[0]; barrier(1); x[0] = all[get_local_id(0) + x[1]]; }"
    )
    with pytest.raises(BuildError, match=rf"^kernel large takes {4 * count} bytes of local mem"):
        build(queue, "large", source, [], ["fill"], two_steps=False)


@pytest.mark.usefixtures("queue")
def test_the_next_process_compiles_nothing(folder: Path) -> None:
    program = (
        "import pyopencl as cl, sys, json\n"
        "from mltune.runtime import building\n"
        "compiled = []\nreal = cl.Program\n"
        "def program(context, given, *more):\n"
        "    compiled.append(isinstance(given, str))\n"
        "    return real(context, given, *more)\n"
        "building.cl.Program = program\n"
        "device = next(p for p in cl.get_platforms() if 'Portable' in p.name).get_devices()[0]\n"
        "queue = cl.CommandQueue(cl.Context([device]))\n"
        f"building.build(queue, 'f', {SOURCE!r}, ['-DNUMBER=1'], ['fill'], two_steps=False)\n"
        "print(json.dumps(compiled))\n"
    )
    for expected in ("[true]", "[false]"):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected
