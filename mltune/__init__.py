"""mltune tunes OpenCL GEMM kernels for a device and exports the result as code.

    objective = mltune.Objective("sgemm_nn", sizes="gpu")  # device, space and run folder
    study = mltune.create_study(objective)  # an optuna.Study
    study.optimize(objective, n_trials=500)  # or: mltune.search("sgemm_nn", budget=500)
    frame = objective.run.to_frame()  # pandas: one row a measurement
    selector = mltune.distil(objective.run)
    mltune.export(selector, "c", "tuned-c")
    c = mltune.load(selector)(a, b)  # numpy or pyopencl arrays

`import mltune` loads no other library; each name is loaded at its first use.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mltune import errors as errors
    from mltune.runtime import TunedGemm, TunedSet
    from mltune.search.guided import GuidedSampler as GuidedSampler
    from mltune.selector import Selector
    from mltune.workflow.objective import Objective as Objective
    from mltune.workflow.python import distil as distil
    from mltune.workflow.python import export as export
    from mltune.workflow.python import report as report
    from mltune.workflow.python import search as search
    from mltune.workflow.python import train as train
    from mltune.workflow.python import tune as tune
    from mltune.workflow.tuned_study import create_study as create_study

__version__ = "0.1.0"

_PLACES = {
    "GuidedSampler": "mltune.search.guided",
    "Objective": "mltune.workflow.objective",
    "create_study": "mltune.workflow.tuned_study",
    "train": "mltune.workflow.python",
    "tune": "mltune.workflow.python",
}
_PACKAGES = ("distil", "errors", "export", "report", "search")  # all but errors can be called

__all__ = [
    "GuidedSampler",
    "Objective",
    "create_study",
    "distil",
    "errors",
    "export",
    "load",
    "report",
    "search",
    "train",
    "tune",
]


@overload
def load(
    selector: Selector, *, learn: str | Path | None = None, device: str | None = None
) -> TunedGemm: ...
@overload
def load(
    selector: str | Path, *, learn: str | Path | None = None, device: str | None = None
) -> Any: ...
@overload
def load(selector: Sequence[str | Path | Selector], *, device: str | None = None) -> TunedSet: ...


def load(
    selector: str | Path | Selector | Sequence[str | Path | Selector],
    *,
    learn: str | Path | None = None,
    device: str | None = None,
) -> Any:
    """Load selectors, ready to choose and to launch kernels.

    Args:
        selector: what `mltune.distil` returned, the JSON file that `mltune distil` wrote, the
            folder that holds one as `selector.json`, or the name of a pack that ships with mltune,
            such as `nvidia-h200/sgemm_nn`. Or several: a sequence of these, the folder that
            `mltune tune` wrote, or a device's name for all of its packs.
        learn: a file for what is learned from calls; it is made if it does not exist. For one
            selector only. The first calls of a size on a queue with profiling try up to five
            kernels, each at most eight times, and the fastest by event times is kept. None, the
            default, learns nothing.
        device: for host arrays, as `--device` takes it (default: `auto`). It is looked up at the
            first call with such arrays.

    Returns:
        A `TunedGemm`; for several selectors a `TunedSet`, which finds the problem type of a call
        by its arrays, and loads its kernels at the first call.

    Raises:
        mltune.errors.UsageError: when there is no readable selector, two are for one problem type,
            `learn` names another kind of file, or an argument has a wrong type.
    """
    from mltune.errors import UsageError
    from mltune.runtime import load as load_runtime
    from mltune.runtime import load_set
    from mltune.selector import Selector
    from mltune.selector.pack import find_set

    if not isinstance(device, str | None):
        raise UsageError(f"load: device must be text such as '0:0', got {type(device).__name__}")
    if not isinstance(learn, str | os.PathLike | None):
        raise UsageError(f"load: learn must be a path, got {learn!r}")
    several: Sequence[Any] = ()
    name = ""
    if not isinstance(selector, str | Path | Selector):
        several = list(selector) if hasattr(selector, "__iter__") else [selector]
        if wrong := [each for each in several if not isinstance(each, str | Path | Selector)]:
            raise UsageError(
                "load: expected a selector, its path, a pack's name, or several of these, got "
                f"{type(wrong[0]).__name__}"
            )
    elif not isinstance(selector, Selector):
        several, name = find_set(Path(selector)), str(selector)
    if not several and isinstance(selector, str | Path | Selector):
        chosen = Path(selector) if isinstance(selector, str) else selector
        return load_runtime(chosen, None if learn is None else Path(learn), device=device)
    if learn is not None:
        raise UsageError("load: learn takes one selector, got several")
    given = [Path(each) if isinstance(each, str) else each for each in several]
    return load_set(given, name=name, device=device)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"mltune.{name}")
    raise AttributeError(f"module 'mltune' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
