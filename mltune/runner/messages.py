"""The messages between the runner and its worker process, as JSON lines.

The worker sends `{"device": ..., "number": "P:D", "notes": [...]}` once it knows the device, with
notes about it, and `{"ready": true}` once it has checked it; or `{"error": kind, "message": text}`
instead of either, where kind is `no_device`, `usage` or `sick` (the known-good kernel failed). For
each request it sends one `{"stage": ...}` whenever the work enters another stage, then one
`{"answer": ...}`. A request without a kernel is for that of the last one. On
`{"expect": problem, "seed": number}` it prepares for that problem, without an answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from mltune.kernel import Area, Kernel, Limits, Pass
from mltune.measurement import Status
from mltune.problem import Contraction, Problem
from mltune.runner.timing import SamplingPlan
from mltune.space.config import Config


class Stage(Enum):
    """The work of the worker; each stage has a time limit of its own.

    The limit of building is one of processor time.
    """

    STARTING = "starting"
    BUILDING = "building"
    LAUNCHING = "launching it"
    PREPARING = "preparing"
    RUNNING = "running"
    CHECKING = "checking"

    @property
    def is_building(self) -> bool:
        """Whether the driver compiles; some drivers do so at the first launch."""
        return self in (Stage.BUILDING, Stage.LAUNCHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One measurement to make.

    Attributes:
        plan: of the samples.
        run_seconds: time limit of all launches together.
        check: whether to check the result even if this worker found it right before.
    """

    problem: Problem
    kernel: Kernel
    plan: SamplingPlan
    seed: int
    run_seconds: float
    check: bool = True

    def to_json(self, told: Kernel | None = None) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back.

        Args:
            told: the kernel of the reader's last request; it is not sent again.
        """
        kernel = self.kernel
        return {
            "problem": self.problem.to_json(),
            "kernel": None
            if kernel is told
            else {
                "name": kernel.name,
                "family": kernel.family,
                "contraction": kernel.contraction.to_json(),
                "config": kernel.config.to_json(),
                "source": kernel.source,
                "build_options": kernel.build_options,
                "work_group": kernel.work_group,
                "macro_tile": kernel.macro_tile,
                "limits": asdict(kernel.limits),
                "split": kernel.split,
                "part": kernel.part,
                "groups_per_unit": kernel.groups_per_unit,
                "before": [asdict(each) for each in kernel.before],
                "after": [asdict(each) for each in kernel.after],
                "scratch": [asdict(area) for area in kernel.scratch],
                "counters": kernel.counters,
            },
            "plan": asdict(self.plan),
            "seed": self.seed,
            "run_seconds": self.run_seconds,
            "check": self.check,
        }

    @classmethod
    def from_json(cls, data: Any, told: Kernel | None = None) -> Request:
        """Read what `to_json` wrote, with the kernel of the last request read.

        A source is text, so that any kernel can be sent.
        """
        return cls(
            problem=Problem.from_json(data["problem"]),
            kernel=told if told and data["kernel"] is None else _kernel_from_json(data["kernel"]),
            plan=SamplingPlan(**data["plan"]),
            seed=data["seed"],
            run_seconds=data["run_seconds"],
            check=data["check"],
        )


def _kernel_from_json(data: Any) -> Kernel:
    kernel = dict(data)
    kernel["contraction"] = Contraction.from_json(kernel["contraction"])
    kernel["config"] = Config.from_json(kernel["config"])
    for name in ("build_options", "work_group", "macro_tile", "part"):
        kernel[name] = tuple(kernel[name])
    for name in ("before", "after"):
        kernel[name] = tuple(_pass_from_json(each) for each in kernel[name])
    kernel["scratch"] = tuple(
        Area(**area | {"tile": tuple(area["tile"])}) for area in kernel["scratch"]
    )
    limits = kernel["limits"]
    kernel["limits"] = Limits(**limits | {"multiples": tuple(limits["multiples"])})
    return Kernel(**kernel)


def _pass_from_json(data: Any) -> Pass:
    return Pass(**data | {name: tuple(data[name]) for name in ("work_group", "tile", "part")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a request; the fields have `Measurement`'s meanings.

    Attributes:
        reference_seconds: the longer one of the reference kernel's times before and after the
            samples; None if nothing was timed.
        outsider: whether another process may have ended the worker. SIGKILL never comes from a
            kernel: it comes from a person, or from the system when memory is short.
        preparing: whether the worker ended while it prepared the problem.
        retire: whether the device may be damaged, so that a new process should replace this one.
    """

    status: Status
    seconds: tuple[float, ...] = ()
    max_error: float | None = None
    error_bound: float | None = None
    compile_seconds: float | None = None
    compile_cached: bool = False
    message: str = ""
    reference_seconds: float | None = None
    observed: tuple[tuple[str, float], ...] = ()
    outsider: bool = False
    preparing: bool = False
    retire: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def from_json(cls, data: Any) -> Outcome:
        """Read what `to_json` wrote."""
        observed = tuple((name, value) for name, value in data["observed"])
        values = {**data, "status": Status(data["status"]), "seconds": tuple(data["seconds"])}
        return cls(**values | {"observed": observed})
