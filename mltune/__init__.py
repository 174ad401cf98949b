"""mltune tunes OpenCL GEMM kernels for a device and hands the answer over as code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mltune.runtime import TunedGemm

__version__ = "0.1.0"


def load(path: str | Path) -> TunedGemm:
    """Load a selector written by `mltune distil`, ready to choose and to launch kernels.

    Args:
        path: a selector's JSON file, the folder that holds one as `selector.json`, or the name
            of a pack that ships with mltune, such as `nvidia-h200/sgemm`.

    Raises:
        mltune.errors.UsageError: when there is no readable selector at `path`.
    """
    from mltune.runtime import load as load_runtime

    return load_runtime(Path(path))
