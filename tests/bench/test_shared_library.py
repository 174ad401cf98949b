from __future__ import annotations

import shutil
from pathlib import Path

import pyopencl
import pytest

from mltune.bench.contestant import NotPresentError
from mltune.bench.shared_library import load_library, newest_first


def test_a_library_with_a_version_behind_its_name_is_found_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(_loader(), tmp_path / "libmltunetest.so.1")
    with pytest.raises(NotPresentError, match=r"no libmltunetest\.so found"):
        load_library("mltunetest", hint="none")

    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere::{tmp_path}")

    library, name = load_library("mltunetest", hint="none")
    assert name == "libmltunetest.so.1"
    assert hasattr(library, "clGetPlatformIDs")


def test_of_several_versions_in_a_folder_the_newest_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9.2", "12.4", "12"):
        shutil.copy(_loader(), tmp_path / f"libmltunetest.so.{version}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    assert load_library("mltunetest", hint="none")[1] == "libmltunetest.so.12.4"


def test_the_newest_of_several_installations_comes_first() -> None:
    names = ["cuda-9.2", "cuda", "cuda-12.4", "cuda-12", "cuda-10.1"]
    found = newest_first(Path("/usr/local/of-2024") / name for name in names)

    assert " ".join(path.name for path in found) == "cuda-12.4 cuda-12 cuda-10.1 cuda-9.2 cuda"


def _loader() -> Path:
    home = Path(pyopencl.__file__).parent
    loaders = [*home.glob(".libs/libOpenCL*.so*"), *home.parent.glob("pyopencl.libs/libOpenCL*")]
    if not loaders:
        pytest.skip("pyopencl's wheel has no OpenCL loader to copy")
    return loaders[0]
