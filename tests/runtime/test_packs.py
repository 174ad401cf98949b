"""Packs are checked when a device first uses them; kernels that fail are not used."""

import json
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from pyopencl import _cl

import mltune
from mltune.errors import MltuneError, NoDeviceError
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm
from mltune.resources import data_folder
from mltune.runtime import TunedGemm, first_use, here
from mltune.runtime.building import BuildError, build
from mltune.runtime.built_kernels import BuiltKernels
from mltune.selector import Selector
from mltune.selector.json import write_selector
from mltune.selector.restricted import without
from mltune.selector.speeds import Speed, write_speeds
from tests.devices import CPU
from tests.runtime.test_tuned_gemm import CONFIGS, selector_for

Spoil = Callable[..., TunedGemm]
SIZE = (70, 60, 50, 1)


@pytest.fixture
def selector(queue: cl.CommandQueue) -> Selector:
    here = (("device", queue.device.name),)
    return replace(selector_for(gemm(Precision.SINGLE)), conditions=here)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "packs"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are built, as they come."""
    names = []

    def noted(*given: Any, **options: Any) -> Any:
        names.append(given[1])
        return build(*given, **options)

    monkeypatch.setattr("mltune.runtime.built_kernels.build", noted)
    return names


@pytest.fixture
def spoilt(selector: Selector) -> Spoil:
    """A pack in which one kernel has another source."""

    def make(number: int, old: str, new: str, seconds: float = 1.0) -> TunedGemm:
        kernels = [FAMILIES["tiled"].generate(selector.contraction, each) for each in CONFIGS]
        source = kernels[number].source
        assert not old or old in source
        changed = source.replace(old, new) if old else new
        kernels[number] = replace(kernels[number], source=changed)
        speeds = [Speed(SIZE, seconds)]
        return TunedGemm(selector, kernels, name="here/sgemm_nn", speeds=speeds)

    return make


def product(tuned: TunedGemm, queue: cl.CommandQueue, size: int = 8) -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((size, size)).astype("float32")
    c, _ = tuned.gemm(queue, *(cl_array.to_device(queue, a) for _ in range(2)))
    np.testing.assert_allclose(c.get(), a @ a, rtol=1e-4, atol=1e-4)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


def test_a_pack_that_is_as_it_states_says_nothing_and_is_checked_once(
    selector: Selector, queue: cl.CommandQueue, kept: Path, tmp_path: Path,
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    write_selector(selector, tmp_path / "selector.json")
    write_speeds([Speed(SIZE, 1.0)], tmp_path)
    with caplog.at_level(logging.WARNING):
        product(mltune.load(tmp_path), queue)
    assert lines(caplog) == []
    (file,) = kept.iterdir()
    assert json.loads(file.read_text())["wrong"] == []

    def never(*_: object) -> None:
        pytest.fail("it was checked before")

    with monkeypatch.context() as patched:
        patched.setattr("mltune.runtime.here.check", never)
        product(mltune.load(tmp_path), queue)
    for damaged in ("{", '{"right": [1e999]}', "[" * 100_000):
        file.write_text(damaged)
        product(mltune.load(tmp_path), queue)
        assert json.loads(file.read_text())["wrong"] == []


@pytest.mark.usefixtures("kept")
def test_a_wrong_kernel_is_not_used_and_named(
    spoilt: Spoil, queue: cl.CommandQueue, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):  # the second time it is known
        tuned = spoilt(1, "(alpha_argument)", "(2 * alpha_argument)")  # answers for 8 x 8 x 8
        with caplog.at_level(logging.WARNING):
            product(tuned, queue)
            product(tuned, queue, 40)
        (line,) = lines(caplog)
        assert line.startswith(f"here/sgemm_nn, on {queue.device.name}: 1 of 5 kernels is not use")
        assert "elements wrong" in line
        assert line.endswith("(tune yours: mltune tune --problems sgemm_nn -o mine)")


@pytest.mark.usefixtures("kept")
def test_a_kernel_for_other_devices_is_not_built(
    selector: Selector, spoilt: Spoil, queue: cl.CommandQueue, built: list[str]
) -> None:
    number = selector.choose(*SIZE).index
    tuned = spoilt(number, "__kernel", "/* asm */ __kernel")

    here = tuned.settle(queue, anew=True)

    assert here.lacking == {number: "PTX instructions of NVIDIA GPUs"}
    assert here.finding is not None
    assert here.finding.seconds == (0.0,)
    assert len(built) == len(tuned.kernels) - 1
    assert tuned.kernels[number].name not in built


@pytest.mark.usefixtures("kept")
def test_a_kernel_for_other_devices_that_was_asked_for_keeps_its_reason(
    spoilt: Spoil, queue: cl.CommandQueue
) -> None:
    a = cl_array.zeros(queue, (8, 8), "float32")
    with pytest.raises(MltuneError, match="does not build"):
        spoilt(3, "__kernel", "asm __kernel").gemm(queue, a, a, kernel=3)

    here = spoilt(3, "__kernel", "asm __kernel").settle(queue)

    assert here.lacking == {3: "PTX instructions of NVIDIA GPUs"}


@pytest.mark.usefixtures("kept")
def test_each_kernel_is_checked_before_its_first_launch(
    spoilt: Spoil, queue: cl.CommandQueue, caplog: pytest.LogCaptureFixture, built: list[str]
) -> None:
    tuned = spoilt(0, "(alpha_argument)", "(2 * alpha_argument)")  # not of the stated size
    names = [kernel.name for kernel in tuned.kernels]
    with caplog.at_level(logging.WARNING):
        product(tuned, queue)
        assert built == [names[1]]
        assert lines(caplog) == []
        for _ in range(2):
            product(tuned, queue, 7)
    (line,) = lines(caplog)
    assert line.startswith(f"here/sgemm_nn on {queue.device.name}: computes ")
    assert line.endswith(" elements wrong; another kernel takes its place")
    assert built == [names[1], names[0]]

    tuned = spoilt(0, "(alpha_argument)", "(2 * alpha_argument)")
    with caplog.at_level(logging.WARNING):
        product(tuned, queue, 7)
    (line,) = lines(caplog)
    assert "1 of 5 kernels is not used there: computes" in line
    assert built == [names[1], names[0], names[1]]


@pytest.mark.usefixtures("kept")
def test_queues_of_checks_and_their_scratch_memory_are_not_kept(
    spoilt: Spoil, queue: cl.CommandQueue
) -> None:
    tuned = spoilt(1, "__kernel", "__kernel")
    assert tuned.launched[1].has_scratch

    product(tuned, queue)

    here = tuned._on(queue)
    assert here.finding is not None
    assert here.finding.right == (1,)
    assert list(here.launcher._built._scratch) == [queue.int_ptr]


@pytest.mark.usefixtures("kept")
def test_a_wrong_kernel_that_is_asked_for_is_refused(
    spoilt: Spoil, queue: cl.CommandQueue
) -> None:
    tuned = spoilt(3, "(alpha_argument)", "(2 * alpha_argument)")
    a = cl_array.zeros(queue, (8, 8), "float32")

    with pytest.raises(MltuneError, match="elements wrong"):
        tuned.gemm(queue, a, a, kernel=3)


@pytest.mark.usefixtures("kept")
def test_threads_wait_for_the_check_of_a_kernel(spoilt: Spoil, queue: cl.CommandQueue) -> None:
    tuned = spoilt(0, "(alpha_argument)", "(2 * alpha_argument)")
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(product, tuned, queue, 7) for _ in range(8)]

    for each in done:
        each.result()


def of_memory() -> cl.Error:
    code = cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE
    return cl.MemoryError(_cl._ErrorRecord("clCreateBuffer", code, ""))


def of_memory_in_a_build() -> BuildError:
    error = BuildError("kernel does not build")
    error.__cause__ = of_memory()
    return error


@pytest.mark.parametrize("failure", [of_memory, of_memory_in_a_build])
def test_a_kernel_that_lacked_memory_is_used_by_the_next_process(
    failure: Callable[[], Exception], selector: Selector, spoilt: Spoil, queue: cl.CommandQueue,
    kept: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    built = []

    def failing_once(*given: Any, **options: Any) -> Any:
        built.append(given)
        if len(built) == 1:
            raise failure()
        return build(*given, **options)

    monkeypatch.setattr("mltune.runtime.built_kernels.build", failing_once)
    kernels = spoilt(1, "(alpha_argument)", "(2 * alpha_argument)").kernels

    def lacking() -> dict[int, str]:
        tuned = TunedGemm(selector, kernels, speeds=[Speed(SIZE, 1.0)])
        return tuned.settle(queue, anew=True).lacking

    assert list(lacking()) == [0, 1]
    assert not kept.exists()
    assert list(lacking()) == [1]
    assert len(list(kept.iterdir())) == 1


def test_a_kernel_larger_than_the_driver_states_runs(
    queue: cl.CommandQueue,
    selector: Selector,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NVIDIA's states 256 work-items for kernels in PTX, and runs 512."""
    monkeypatch.setattr(cl.Kernel, "get_work_group_info", lambda *_: 1)

    with caplog.at_level(logging.WARNING):
        product(mltune.load(selector), queue)

    assert lines(caplog) == []


def test_a_product_whose_scratch_memory_does_not_fit_is_computed_without(
    selector: Selector,
    queue: cl.CommandQueue,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuned = mltune.load(selector)
    asked, rules = [], []

    def failing(*given: Any) -> Any:
        asked.append(given)
        raise of_memory()

    def without_counted(*given: Any) -> Any:
        rules.append(given)
        return without(*given)

    with caplog.at_level(logging.WARNING), monkeypatch.context() as patched:
        patched.setattr(BuiltKernels, "_take_scratch", failing)
        patched.setattr(here, "without", without_counted)
        for _ in range(2):  # the next time it may fit
            product(tuned, queue)
    product(tuned, queue)

    assert len(asked) == 2
    assert len(rules) == 2  # that of all kernels, and that of those without scratch memory
    assert not lines(caplog)


@pytest.mark.usefixtures("kept")
def test_a_kernel_that_lacked_memory_is_checked_again_when_it_is_asked_for(
    spoilt: Spoil, queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = spoilt(0, "__kernel", "__kernel")
    a = cl_array.zeros(queue, (8, 8), "float32")
    tuned.gemm(queue, a, a, kernel=1)

    def failing(*given: Any, **options: Any) -> Any:
        raise of_memory_in_a_build()

    with monkeypatch.context() as patched:
        patched.setattr("mltune.runtime.built_kernels.build", failing)
        with pytest.raises(MltuneError, match="failed on"):
            tuned.gemm(queue, a, a, kernel=3)
    c, _ = tuned.gemm(queue, a, a, kernel=3)

    assert not c.get().any()


@pytest.mark.usefixtures("kept")
def test_memory_that_is_lacking_for_the_first_check_is_one_line(
    spoilt: Spoil, queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = spoilt(0, "__kernel", "__kernel")

    def failing(*_: object) -> None:
        raise of_memory()

    with monkeypatch.context() as patched:
        patched.setattr("mltune.runtime.first_use.to_device", failing)
        with pytest.raises(MltuneError, match="clCreateBuffer failed"):
            product(tuned, queue)
    product(tuned, queue)


@pytest.mark.usefixtures("kept")
def test_a_slow_pack_says_so(
    spoilt: Spoil, queue: cl.CommandQueue, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        spoilt(0, "", "not OpenCL", 1e-9).settle(queue, anew=True)

    (line,) = lines(caplog)
    assert "1 of 5 kernels is not used there: kernel Cij" in line
    assert "does not build" in line
    assert "70x60x50 takes " in line
    assert "not 1e-06 ms as it states" in line


def test_without_a_check_a_kernel_that_does_not_build_is_replaced(
    spoilt: Spoil, queue: cl.CommandQueue, selector: Selector, caplog: pytest.LogCaptureFixture
) -> None:
    tuned = TunedGemm(selector, spoilt(1, "", "not OpenCL").kernels)
    with caplog.at_level(logging.WARNING):
        product(tuned, queue)
        product(tuned, queue)

    (line,) = lines(caplog)
    assert line.startswith(f"sgemm_nn on {queue.device.name}: kernel Cij")
    assert line.endswith("another kernel takes its place")
    a = cl_array.zeros(queue, (8, 8), "float32")
    with pytest.raises(MltuneError, match="does not build"):  # it was asked for
        tuned.gemm(queue, a, a, kernel=1)


def test_a_kernel_whose_work_groups_the_device_refuses_is_replaced(
    spoilt: Spoil, queue: cl.CommandQueue, selector: Selector, caplog: pytest.LogCaptureFixture
) -> None:
    kernels = list(spoilt(1, "__kernel", "__kernel").kernels)
    kernels[1] = replace(kernels[1], work_group=(2, 3, 1))  # its source says another one
    tuned = TunedGemm(selector, kernels)
    with caplog.at_level(logging.WARNING):
        product(tuned, queue)
        product(tuned, queue)

    (line,) = lines(caplog)
    assert "has work-groups of 2x3x1 work-items, which the device refuses; another" in line


@pytest.mark.usefixtures("kept")
def test_a_pack_of_another_device_says_what_to_expect(
    spoilt: Spoil, queue: cl.CommandQueue, selector: Selector, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = replace(selector, conditions=(("device", "Sonic 3000"),))
    tuned = TunedGemm(
        foreign, spoilt(0, "", "not OpenCL").kernels, name="x/y", speeds=[Speed(SIZE, 0.5)]
    )
    with caplog.at_level(logging.WARNING):
        tuned.settle(queue, anew=True)

    (line,) = lines(caplog)
    assert line.startswith(f"x/y, tuned for Sonic 3000, on {queue.device.name}: 1 of 5 kernels")
    assert "not 500 ms as on Sonic 3000" in line


def test_a_pack_of_which_nothing_runs_is_refused_in_one_line(
    queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mltune.runtime.loading.list_devices", lambda: [Entry(queue)])
    fitting = tmp_path / "pthread-amd-epyc" / "hgemm_nt"
    shutil.copytree(data_folder("models") / "pthread-amd-epyc" / "sgemm_nn", fitting)
    monkeypatch.setattr("mltune.runtime.here.packs", lambda: [fitting])
    name = queue.device.name
    with pytest.raises(NoDeviceError) as refused:
        mltune.load("nvidia-h100-80gb-hbm3/hgemm_nt")

    assert str(refused.value) == (
        "nvidia-h100-80gb-hbm3/hgemm_nt, tuned for NVIDIA H100 80GB HBM3, cannot be used on "
        f"{name}: none of its 27 kernels runs there (PTX instructions of NVIDIA GPUs); "
        "use pthread-amd-epyc/hgemm_nt, or tune yours: mltune tune --problems hgemm_nt -o tuned"
    )


def test_a_check_is_kept_in_the_folder_that_is_named_also_without_a_home_folder(
    selector: Selector, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "~")
    found = first_use.Finding(right=(0, 2), wrong=((1, "fails"),), seconds=())

    first_use.keep_finding(found, selector, (), (), CPU)

    assert first_use.kept_finding(selector, (), (), CPU) == found
    assert len(list(kept.iterdir())) == 1


@pytest.mark.usefixtures("kept")
def test_checks_of_two_processes_are_both_kept(selector: Selector) -> None:
    for found in (
        first_use.Finding(right=(0, 2), wrong=((1, "fails"), (4, "fails")), seconds=()),
        first_use.Finding(right=(3, 1), wrong=((2, "computes wrong"),), seconds=()),
    ):
        first_use.keep_finding(found, selector, (), (), CPU)

    kept = first_use.kept_finding(selector, (), (), CPU)
    assert kept is not None
    assert (kept.right, dict(kept.wrong)) == ((3, 1, 0), {2: "computes wrong", 4: "fails"})


class Entry:
    def __init__(self, queue: cl.CommandQueue) -> None:
        from mltune.device.opencl.describe import describe

        self.info = describe(queue.device)


@pytest.mark.parametrize("problem", ["dgemm_tn_batched", "cgemm_nc_row", "zgemm_ct", "hgemm_nt"])
def test_every_problem_type_can_be_checked(problem: str, queue: cl.CommandQueue) -> None:
    from mltune.problem import parse_problem_type

    contraction = parse_problem_type(problem)
    kernels = [FAMILIES["tiled"].generate(contraction, each) for each in CONFIGS]
    tuned = TunedGemm(selector_for(contraction), kernels, speeds=[Speed((9, 8, 7, 1), 1.0)])

    here = tuned.settle(queue, anew=True)

    assert here.lacking == {}
    assert here.finding is not None
    assert here.finding.seconds[0] > 0
    assert first_use.VERSION == 3
