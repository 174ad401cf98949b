"""A kernel's source by number, by name, or of the best kernel."""

from collections import Counter
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.run.run import Run
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selector
from mltune.tuning.final_selection import choose
from mltune.workflow.source import kernel_text

PACK = Path("nvidia-h200/hgemm")
RUN = Path(__file__).parents[2] / "runs" / "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"


def test_a_selectors_kernels_are_found_by_number_and_by_name() -> None:
    names = [entry.name for entry in read_selector(find_selector(PACK)).portfolio]

    assert kernel_text(PACK, None).kernel.name == names[0]
    assert kernel_text(PACK, "2").kernel.name == names[2]
    found = kernel_text(PACK, names[1])
    assert found.kernel.name == names[1]
    assert found.is_as_measured
    assert f"{names[1]}(" in found.kernel.source
    assert found.to_json()["problem"] == "hgemm_nn"


def test_of_a_run_the_kernel_that_wins_most_often_or_a_measurements() -> None:
    best = kernel_text(RUN, None)
    with Run.open(RUN) as run:
        choices = choose(run.store.measurements()).values()
    count = Counter(choice.best.kernel for choice in choices)

    ((name, wins),) = count.most_common(1)
    assert (best.kernel.name, best.chosen) == (name, f"fastest on {wins} of 4 sizes")
    assert kernel_text(RUN, best.kernel.name).kernel == best.kernel
    assert kernel_text(RUN, "1").kernel.source


@pytest.mark.parametrize(
    ("path", "wanted", "message"),
    [
        (PACK, "99", "no kernel 99"),
        (PACK, "_MT", "kernels have '_MT' in the name"),
        (PACK, "no such", "no kernel has 'no such' in the name"),
        (RUN, "99999999", "no measurement 99999999"),
        (RUN, "no such", "no kernel has 'no such' in the name"),
        (Path("nosuch/sgemm_xx"), None, "no such pack"),
    ],
)
def test_what_is_not_there_is_named(path: Path, wanted: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kernel_text(path, wanted)
