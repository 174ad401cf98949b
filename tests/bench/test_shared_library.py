from __future__ import annotations

import shutil
from pathlib import Path

import pyopencl
import pytest

from mltune.bench.contestant import NotPresentError
from mltune.bench.shared_library import load_library


def test_a_library_with_a_version_behind_its_name_is_found_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(pyopencl.__file__).parent
    loaders = [*home.glob(".libs/libOpenCL*.so*"), *home.parent.glob("pyopencl.libs/libOpenCL*")]
    if not loaders:
        pytest.skip("pyopencl's wheel has no OpenCL loader to copy")
    shutil.copy(loaders[0], tmp_path / "libmltunetest.so.1")
    with pytest.raises(NotPresentError, match=r"no libmltunetest\.so found"):
        load_library("mltunetest", hint="none")

    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere::{tmp_path}")

    library, name = load_library("mltunetest", hint="none")
    assert name == "libmltunetest.so.1"
    assert hasattr(library, "clGetPlatformIDs")
