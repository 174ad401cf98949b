"""The Python interface from end to end on PoCL, and what importing it loads."""

from __future__ import annotations

import pickle
import pydoc
import subprocess
import sys
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import mltune
import mltune.workflow.python
from mltune.errors import UsageError
from mltune.measurement import Phase
from mltune.run.run import Run
from mltune.runtime import TunedGemm
from mltune.selector import Selector
from tests.quick import QUICK_SIZES, QUICK_SPACE

pytestmark = pytest.mark.usefixtures("host_arrays_here")

TRIALS = 6


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("space") / "quick.yaml"
    path.write_text(QUICK_SPACE)
    return str(path)


@pytest.fixture(scope="module")
def searched(space: str, tmp_path_factory: pytest.TempPathFactory, device_spec: str) -> Path:
    """The folder of a run that `mltune.search` made."""
    folder = tmp_path_factory.mktemp("interface") / "run"
    result = mltune.search(
        "sgemm_nn", QUICK_SIZES, device_spec, budget=TRIALS, space=space, folder=folder, samples=2
    )
    assert (result.trials, result.exit_code, result.run) == (TRIALS, 0, folder)
    assert repr(result).endswith(f": {TRIALS} trials, 0 failed, {folder}>")
    return folder


@pytest.fixture(scope="module")
def selector(searched: Path) -> Selector:
    with Run.open(searched) as run:
        return mltune.distil(run, max_kernels=4)


@pytest.fixture(scope="module")
def gemm(selector: Selector) -> Iterator[TunedGemm]:
    made = mltune.load(selector)
    yield made
    made.release()


def numbers(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def as_it_is(array: Any) -> Any:
    return array


def cut(array: Any) -> Any:
    """The same numbers in every second place of a larger array."""
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    larger[..., ::2] = array
    return larger[..., ::2]


def test_a_search_measures_the_leaders_too(searched: Path) -> None:
    with Run.open(searched) as run:
        frame = run.to_frame()

    assert set(frame["phase"]) >= {Phase.SEARCH.value, Phase.FINAL.value}
    assert frame[frame["phase"] == "search"]["trial"].nunique() == TRIALS


def test_the_later_stages_take_a_folder_or_a_run(searched: Path, tmp_path: Path) -> None:
    model = mltune.train(searched)
    again = mltune.distil(str(searched), output=tmp_path / "selector.json")
    page = mltune.report(searched, tmp_path / "report.html")

    assert repr(model).startswith("<BoostedModel sgemm_nn on ")
    assert repr(again).startswith("<Selector sgemm_nn, ")
    assert (tmp_path / "selector.json").exists()
    assert mltune.load(str(tmp_path / "selector.json")).selector == again
    assert page == tmp_path / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("language", ["c", "python", "json"])
def test_a_selector_in_memory_is_exported(
    selector: Selector, language: str, tmp_path: Path
) -> None:
    files = mltune.export(selector, language, tmp_path / language)

    assert files
    assert all(file.is_file() for file in files)


@pytest.mark.parametrize("turned", [as_it_is, np.asfortranarray, cut])
def test_numpy_arrays_of_any_order_are_multiplied(
    gemm: TunedGemm, turned: Callable[[Any], Any]
) -> None:
    a, b = numbers(37, 21), numbers(21, 50)

    c = gemm(turned(a), turned(b))

    assert isinstance(c, np.ndarray)
    assert (c.shape, c.dtype) == ((37, 50), np.float32)
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=0, atol=1e-4)


def test_arrays_on_the_device_stay_there(gemm: TunedGemm, queue: cl.CommandQueue) -> None:
    a, b = np.asfortranarray(numbers(37, 21)), np.asfortranarray(numbers(21, 50))

    c = gemm(cl_array.to_device(queue, a), cl_array.to_device(queue, b))

    assert isinstance(c, cl_array.Array)
    np.testing.assert_allclose(c.get(), a.astype(float) @ b, rtol=0, atol=1e-4)


def test_batches_are_multiplied(space: str, tmp_path: Path, device_spec: str) -> None:
    folder = tmp_path / "run"
    mltune.search(
        "sgemm_nt_batched",
        "16x16x16x3",
        device_spec,
        budget=2,
        space=space,
        folder=folder,
        samples=2,
    )
    gemm = mltune.load(mltune.distil(folder))
    a, b = numbers(3, 17, 5), numbers(3, 5, 9)
    try:
        c = gemm(a, b)
    finally:
        gemm.release()

    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "rule"),
    [
        (numbers(4, 4), [[1.0]], "must both be numpy or pyopencl arrays, got ndarray and list"),
        (numbers(4, 4), None, "got ndarray and NoneType"),
        (numbers(4), numbers(4, 4), r"a must be \(rows, columns\), got \(4,\)"),
        (numbers(2, 4, 4), numbers(2, 4, 4), r"a must be \(rows, columns\)"),
        (numbers(4, 4).astype(float), numbers(4, 4), "float"),
        (numbers(4, 4), numbers(5, 4), r"b must be \(4, n\) beside a"),
    ],
)
def test_wrong_operands_are_one_line(gemm: TunedGemm, a: Any, b: Any, rule: str) -> None:
    with pytest.raises(UsageError, match=rule) as caught:
        gemm(a, b)
    assert "\n" not in str(caught.value)


def test_a_sum_over_nothing_is_zero(gemm: TunedGemm) -> None:
    assert gemm(numbers(4, 0), numbers(0, 5)).tolist() == np.zeros((4, 5)).tolist()


def test_an_array_of_the_host_and_one_of_the_device_are_refused(
    gemm: TunedGemm, queue: cl.CommandQueue
) -> None:
    a = numbers(4, 4)
    with pytest.raises(UsageError, match="got Array and ndarray"):
        gemm(cl_array.to_device(queue, a), a)


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_no_library() -> None:
    said = python(
        "import sys, mltune; dir(mltune)\n"
        "print([name for name in ('numpy', 'pyopencl', 'optuna', 'sklearn', 'pandas', 'scipy', "
        "'sqlalchemy', 'joblib', 'yaml') if name in sys.modules])"
    )

    assert said == "[]"


@pytest.mark.parametrize(
    "order",
    [
        "import mltune; f = mltune.distil; import mltune.distil",
        "import mltune.distil; import mltune; f = mltune.distil",
        "from mltune import distil as f; import mltune.distil.rules; import mltune",
        "import mltune.distil.rules; from mltune import distil as f; import mltune",
    ],
)
def test_a_package_is_a_function_too(order: str) -> None:
    said = python(
        f"{order}\nassert f is mltune.distil and f.__path__\n"
        "try: f()\n"
        "except mltune.errors.UsageError as error: print(error)"
    )

    assert said.startswith("needs a run")


@pytest.mark.parametrize("name", ["distil", "export", "report", "search"])
def test_each_stage_can_be_called(name: str) -> None:
    assert callable(getattr(mltune, name))


@pytest.mark.parametrize("name", ["distil", "export", "report", "search"])
def test_help_shows_the_function_of_a_package(name: str) -> None:
    package, function = getattr(mltune, name), getattr(mltune.workflow.python, name)

    assert pickle.loads(pickle.dumps(package)) is package
    assert signature(package) == signature(function)
    assert package.__doc__ == function.__doc__
    assert function.__doc__.partition("\n")[0] in pydoc.render_doc(package)


def test_a_star_import_gives_the_interface_and_nothing_else() -> None:
    said = python(
        "import mltune\n"
        "mltune.errors.UsageError\n"
        "names = {}\n"
        "exec('from mltune import *', names)\n"
        "print(sorted(set(names) - {'__builtins__'}) == sorted(mltune.__all__))\n"
        "print([name for name in dir(mltune) if name[0] != '_'] == sorted(mltune.__all__))"
    )

    assert said.split() == ["True", "True"]


def test_every_name_of_the_interface_is_there() -> None:
    for name in ("GuidedSampler", "Objective", "create_study", "train", "load"):
        assert callable(getattr(mltune, name))
        assert name in dir(mltune)
    with pytest.raises(AttributeError, match="module 'mltune' has no attribute 'serch'"):
        mltune.serch  # noqa: B018  looking it up is what is tried
