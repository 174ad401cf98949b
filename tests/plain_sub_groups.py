"""The family `direct` with sub-groups in plain OpenCL C: each work-item reads everything itself.

The code that reads B and numbers its terms is the one for devices with sub-groups.
"""

from pathlib import Path

from mltune.kernel.direct import DirectFamily

PLAIN_SUB_GROUPS = DirectFamily(Path(__file__).parent / "kernel" / "plain")
