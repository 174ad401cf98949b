"""Write the priors that ship, from the runs that ship: configs with their times, and an index.

    python tests/benchmarks/ship_priors.py

Reads runs/*/ and writes models/priors.json and models/<device>/priors/<run>.json.gz.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from mltune.kernel.families import FAMILIES
from mltune.run.run import INFO_NAME, TABLE_NAME, read_info
from mltune.workflow.recordings import read_any
from mltune.workflow.shipped_priors import INDEX_NAME, ship

RUNS, MODELS = Path("runs"), Path("models")


def main() -> None:
    """Write all."""
    lines = []
    for folder in sorted(RUNS.iterdir()):
        if not (folder / INFO_NAME).exists() or not (folder / TABLE_NAME).exists():
            continue
        info = read_info(folder)
        if info.family in FAMILIES and info.contraction.is_gemm:
            recording = read_any(folder)
            lines.append(ship(recording, info, folder.name, MODELS))
            print(folder.name, len(recording.points))
    text = json.dumps({"priors": [asdict(line) for line in lines]}, indent=1)
    (MODELS / INDEX_NAME).write_text(text + "\n")


if __name__ == "__main__":
    main()
