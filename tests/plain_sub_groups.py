"""The family `direct` with sub-groups in plain OpenCL C: each work-item reads all by itself.

What reads and numbers the terms of B is what devices with sub-groups get.
"""

from pathlib import Path

from mltune.kernel.direct import DirectFamily

PLAIN_SUB_GROUPS = DirectFamily(Path(__file__).parent / "kernel" / "plain")
