"""Write the priors that ship, from the runs that ship: configs with their times, and an index.

    python tests/benchmarks/ship_priors.py

Reads runs/*/ and writes models/priors.json and models/<device>/priors/<run>.json.gz. A run of
several spaces becomes a prior for each of them with enough configs.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from mltune.kernel.families import FAMILIES
from mltune.measurement.recording import Point, Recording
from mltune.problem import problem_type_name
from mltune.run.run import INFO_NAME, TABLE_NAME, read_info
from mltune.run.run_info import RunInfo, SearchedSpace
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.space.union import FAMILY
from mltune.workflow.recordings import read_any
from mltune.workflow.shipped_priors import INDEX_NAME, ShippedPrior, identity

RUNS, MODELS = Path("runs"), Path("models")
_FEWEST = 24  # configs of a part
_REWRITTEN = {"wgmma-halves-nvidia": "2026-11-26"}  # kernels have other sources since
_AGAIN = "-again"  # ends the names of runs of leaders alone, whose searches ship
_VECTORS = "-vectors"  # ends the names of runs of vectors, which say nothing of other sizes...
_FOR_VECTORS = ("dots", "thin")  # ...so that parts of other spaces do not ship
_RENAMED = {"small-vectors.yaml": "thin.yaml"}  # spaces that ship, since a run was made


def main() -> None:
    """Write all priors and the index."""
    lines = []
    for folder in sorted(RUNS.iterdir()):
        is_run = (folder / INFO_NAME).exists() and (folder / TABLE_NAME).exists()
        if not is_run or folder.name.endswith(_AGAIN):
            continue
        info = read_info(folder)
        if not info.contraction.is_gemm:
            continue
        file = Path(info.space)
        info = replace(info, space=str(file.with_name(_RENAMED.get(file.name, file.name))))
        for name, part, asked in parts(read_any(folder), info, folder.name):
            space = Path(asked.space).stem
            if folder.name < _REWRITTEN.get(space, ""):
                continue
            if folder.name.endswith(_VECTORS) and space not in _FOR_VECTORS:
                continue
            lines.append(ship(part, asked, name, MODELS))
            print(name, len(part.points))
    text = json.dumps({"priors": [asdict(line) for line in lines]}, indent=1)
    (MODELS / INDEX_NAME).write_text(text + "\n")


def ship(recording: Recording, info: RunInfo, name: str, models: Path) -> ShippedPrior:
    """Write the file of a prior, and return its line of the index.

    Args:
        recording: of the run.
        info: the run's options.
        name: of the run.
        models: the folder of packs.
    """
    parameters = sorted(recording.points[0].config)
    rows = [
        [
            *(point.config[parameter] for parameter in parameters),
            None if point.seconds is None else float(f"{point.seconds:.4g}"),
            point.status.value,
        ]
        for point in recording.points
        if sorted(point.config) == parameters
    ]
    file = f"{info.device.slug}/priors/{name}.json.gz"
    path = models / file
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"parameters": parameters, "rows": rows}, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return ShippedPrior(
        name=name,
        file=file,
        problem=problem_type_name(info.contraction),
        family=info.family,
        space=Path(info.space).stem,
        device=identity(info.device),
    )


def parts(
    recording: Recording, info: RunInfo, name: str
) -> Iterator[tuple[str, Recording, RunInfo]]:
    """Yield a run of one space as it is, or the configs of each space that has enough."""
    if info.family in FAMILIES:
        yield name, recording, info
    if len(info.searched_spaces) < 2:
        return
    points: dict[str, list[Point]] = defaultdict(list)
    for point in recording.points:
        if (space := _space_of(point.config, info)) is not None:
            values = {key: value for key, value in point.config.items() if key != FAMILY}
            points[space.name].append(replace(point, config=Config.of(values)))
    for space in info.searched_spaces:
        if len(points[space.name]) >= _FEWEST:
            part = replace(
                recording,
                points=tuple(points[space.name]),
                family=space.family,
                space=Path(space.name).stem,
            )
            asked = replace(info, family=space.family, space=space.name)
            yield f"{name}-{part.space}", part, asked


def _space_of(config: Config, info: RunInfo) -> SearchedSpace | None:
    """Return the first space that has a config's family, parameters and values."""
    for space in info.searched_spaces:
        file = parse_space(space.text, space.name)
        values = {one.name: one.values for one in file.parameters}
        is_alike = space.family == config[FAMILY] and {*values, FAMILY} == set(config)
        if is_alike and all(config[name] in allowed for name, allowed in values.items()):
            return space
    return None


if __name__ == "__main__":
    main()
