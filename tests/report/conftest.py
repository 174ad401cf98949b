from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.cost_model import train
from mltune.measurement import Measurement, Status
from mltune.problem import Size, problem_of_size
from mltune.run.run import Run, read_info
from mltune.run.run_info import RunInfo
from mltune.space.config import Config
from mltune.workflow.report import report

SHIPPED = Path(__file__).parents[2] / "runs" / "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"

MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def shipped() -> tuple[RunInfo, list[Measurement]]:
    """A small run that ships."""
    with Run.open(SHIPPED) as run:
        return run.info, run.store.measurements()


@pytest.fixture(scope="session")
def shipped_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    page = tmp_path_factory.mktemp("report") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_TREES", 60)  # the page is as long with any number
        report(SHIPPED, page)
    return page


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A run folder with made-up times."""

    def make(
        sizes: Sequence[tuple[int, int, int]] = ((64, 64, 64),),
        tiles: Sequence[int] = (1, 2, 4),
        status: Callable[[int], Status] = lambda tile: Status.OK,
        message: str = "it broke",
        **changes: Any,
    ) -> Path:
        info = replace(read_info(SHIPPED), sizes=tuple(Size(size) for size in sizes), **changes)
        folder = tmp_path / "run"
        with Run.create(folder, info) as run:
            for trial, tile in enumerate(tiles):
                for size in sizes:
                    problem = problem_of_size(info.contraction, size)
                    ended = status(tile)
                    right = ended is Status.OK
                    run.database.add(
                        Measurement(
                            problem=problem,
                            config=Config.of({"tile": tile, "word": "ab"[trial % 2]}),
                            family="tiled",
                            kernel=f"kernel_{tile}",
                            source_hash="0",
                            build_options=(),
                            device=info.device.name,
                            driver=info.device.driver_version,
                            uuid=info.device.uuid,
                            status=ended,
                            seconds=(1e-6 + problem.flops / 1e12 / tile,) if right else (),
                            message="" if right else message,
                            trial=trial,
                        )
                    )
        return folder

    return make
