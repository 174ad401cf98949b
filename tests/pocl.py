"""The PoCL for programs in C: pip's, or else the system's."""

from __future__ import annotations

from pathlib import Path

import pyopencl


def pocl_driver() -> Path | None:
    """Return a library, or a file that names one; both are values for OCL_ICD_VENDORS."""
    home = Path(pyopencl.__file__).parent
    # The .icd file is removed if pip's PoCL does not know the processor.
    found = sorted(home.glob(".libs/libpocl*.so*")) if any(home.glob(".libs/*.icd")) else []
    found += sorted(Path("/etc/OpenCL/vendors").glob("pocl*.icd"))
    return next(iter(found), None)
