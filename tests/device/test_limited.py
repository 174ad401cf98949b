"""A device treated as a smaller one: nothing beyond its limits is tried."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mltune
from mltune.cli import main
from mltune.device import choose, open_device
from mltune.device.limited import limited
from mltune.device.limits import check_launch, group_of
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError
from mltune.measurement import Status
from mltune.problem import parse_problem_type, problem_of_size
from mltune.problem.precision import Precision
from mltune.run.run import Run
from mltune.runner.capacity import refuse_precisions
from mltune.space import Config
from mltune.space.union import FAMILY
from mltune.tuning.families import family_named
from mltune.workflow.chosen_spaces import choose_spaces
from tests import devices

LIMITS = (
    "group=64,local=16K,wave=32",
    "cl11,hostclock,wave=64",
    "group=256,flat,bits=32",
    "group=64,flat,alloc=64M,local=16K,nofp64",
)
SPACES = {"cpu": ("direct", "small", "tiled-cpu"), "gpu": ("direct", "small", "tiled-gpu")}
SMALL_SIZES = "24x17x9,64x64x64"
SEED = 7


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("device", [devices.CPU, devices.GPU], ids=["cpu", "gpu"])
def test_no_space_has_a_launch_over_the_limits(device: DeviceInfo, limits: str) -> None:
    contraction = parse_problem_type("sgemm_nt")
    smaller = limited(device, limits)
    problems = [problem_of_size(contraction, size) for size in ((64, 64, 64), (1000, 3, 2048))]
    rng = np.random.default_rng(SEED)
    names: tuple[str, ...] = SPACES[device.kind]
    if device.kind == "gpu" and "flat" in limits:
        names = names[:2]  # `auto` leaves out spaces without a config there
    tried = 0
    for searched, space in choose_spaces(names, smaller, contraction).items():
        family = family_named(searched.family, "test")
        for config in space.sample(rng, 40):
            plain = Config.of({name: config[name] for name in config if name != FAMILY})
            kernel = family.generate(contraction, plain)
            for problem in problems:
                check_launch(smaller, kernel.launch(problem, smaller.compute_units), 0)
            tried += 1
    assert tried == 40 * len(names)


@pytest.mark.device
@pytest.mark.parametrize("limits", LIMITS)
def test_the_chain_is_right_on_a_smaller_device_and_tries_nothing_beyond_it(
    device_spec: str, limits: str, tmp_path: Path
) -> None:
    command = ["search", "-q", "--budget", "6", "--sampler", "random", "--sizes", SMALL_SIZES]
    command += ["--cross-sizes", "none", "--device", f"limited:{limits}:{device_spec}"]

    assert main([*command, "--run", str(tmp_path / "run")]) == 0

    with Run.open(tmp_path / "run") as run:
        found = Counter(row.status for row in run.store.measurements())
    assert set(found) == {Status.OK}
    assert main(["distil", "-q", str(tmp_path / "run"), "-o", str(tmp_path / "mine")]) == 0
    gemm = mltune.load(tmp_path / "mine")
    rng = np.random.default_rng(SEED)
    for m, n, k in ((64, 64, 64), (7, 201, 33)):
        a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
        np.testing.assert_allclose(gemm(a, b), a @ b, rtol=1e-4)


@pytest.mark.device
@pytest.mark.parametrize("limits", ["group=32", "group=1", "flat"])
def test_helper_kernels_respect_the_limits(device_spec: str, limits: str) -> None:
    device = open_device(f"limited:{limits},nofp64:{device_spec}")
    buffer = device.allocate(4096)

    device.fill(buffer, 7)
    check = device.inspection.pattern_check(7)
    check.look(buffer, 0, 4096)

    assert check.is_whole()
    assert device.calculator("float32") is None
    found = np.empty(4096, np.uint8)
    device.read(buffer, found)
    assert (found == 7).all()


@pytest.mark.device
def test_no_calculator_where_its_groups_do_not_fit(device_spec: str) -> None:
    for limits in ("group=128", "flat", "local=16K"):
        assert open_device(f"limited:{limits}:{device_spec}").calculator("float32") is None
    assert open_device(f"limited:group=256:{device_spec}").calculator("float32") is not None


def test_limits_make_a_device_smaller_and_never_larger() -> None:
    info = limited(devices.GPU, "group=1g,local=16K,flat,nofp64,alloc=64M")

    assert info.max_work_group_size == devices.GPU.max_work_group_size
    assert info.max_work_item_sizes == (1024, 1, 1)
    assert (info.local_mem_bytes, info.max_alloc_bytes) == (16384, 64 << 20)
    assert not info.fp64
    assert info.opencl is not None
    assert "cl_khr_fp64" not in info.opencl.extensions
    assert "limited to group=1g" in info.name
    assert [group_of(limited(info, f"group={most}"), 128) for most in (1, 100, 256)] == [
        1,
        64,
        128,
    ]


@pytest.mark.parametrize("limits", ["wings=2", "local", "group=0", "nofp64=1", "alloc=64X"])
def test_an_unknown_limit_is_refused(limits: str) -> None:
    with pytest.raises(UsageError, match="device: "):
        limited(devices.CPU, limits)


@pytest.mark.parametrize("spec", ["limited", "limited:", "limited::cpu"])
def test_a_limit_has_to_be_named(spec: str) -> None:
    with pytest.raises((UsageError, NoDeviceError), match="device"):
        choose(spec)


@pytest.mark.parametrize("precision", [Precision.DOUBLE, Precision.COMPLEX_DOUBLE])
def test_doubles_need_a_device_that_has_them(precision: Precision) -> None:
    refuse_precisions([precision, Precision.HALF], devices.GPU)
    with pytest.raises(NoDeviceError, match=f"no double precision, which '{precision.letter}'"):
        refuse_precisions([Precision.SINGLE, precision], limited(devices.GPU, "nofp64"))


@pytest.mark.device
@pytest.mark.parametrize(
    "command",
    [
        ["search", "--problem", "dgemm_nn", "--sizes", SMALL_SIZES],
        ["bench", "--problem", "zgemm_nn", "--against", "numpy", "--sizes", SMALL_SIZES],
    ],
    ids=lambda words: words[0],
)
def test_doubles_are_refused_in_one_line_before_the_first_trial(
    command: list[str], device_spec: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    more = ["--run", str(folder)] if command[0] == "search" else []

    assert main([*command, *more, "--device", f"limited:nofp64:{device_spec}"]) == 4

    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "has no double precision" in said
    assert not folder.exists()
