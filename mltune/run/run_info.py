"""The options of a run, its device and its host: the content of `run.json`."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from mltune import __version__
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import Contraction, Problem, Size, problem_of_size, problem_type_name
from mltune.problem.problem import Scalar, scalar_from_json, scalar_to_json
from mltune.run.fields import Fields
from mltune.run.host import Host

TIME, ENERGY = "time", "energy"
"""What a search may minimise."""

SCHEMA_VERSION = 1
"""Incremented when `run.json` changes so that an older mltune would misread it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How each measurement of a run was timed.

    Attributes:
        warmups: launches before the first timed one.
        samples: timed launches.
        statistic: of the samples, which is the reported time.
        build_timeout_seconds: after which a build counts as failed.
        run_timeout_seconds: after which a measurement counts as failed.
        cache: `warm` from launch to launch, or `cold`: emptied before each.
    """

    warmups: int
    samples: int
    statistic: str = "median"
    build_timeout_seconds: float
    run_timeout_seconds: float
    cache: str = "warm"

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `dataclasses.asdict` returns.

        Raises:
            UsageError: when it is no such mapping.
        """
        read = Fields(data, "timing")
        read.only(field.name for field in fields(cls))
        return cls(
            warmups=read.whole("warmups"),
            samples=read.whole("samples"),
            statistic=read.text("statistic"),
            build_timeout_seconds=read.number("build_timeout_seconds"),
            run_timeout_seconds=read.number("run_timeout_seconds"),
            cache=read.text("cache") if "cache" in read else "warm",
        )


@dataclass(frozen=True, slots=True)
class SearchedSpace:
    """A space as a run records it.

    Attributes:
        name: of the file, or the path that the user gave.
        family: of its configs.
        text: of the whole file, as the file may change.
    """

    name: str
    family: str
    text: str

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `dataclasses.asdict` returns.

        Raises:
            UsageError: when it is no such mapping.
        """
        read = Fields(data, "spaces")
        read.only(field.name for field in fields(cls))
        return cls(read.text("name"), read.text("family"), read.text("text"))


def new_run_id() -> str:
    """Return an id that no other run has."""
    return uuid.uuid4().hex[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Everything that is needed to repeat a run.

    Attributes:
        id: unique among all runs, also in a shared database.
        created: UTC, ISO 8601.
        command: the command line, word by word.
        space: the space's name; for several spaces, the user's `--space`.
        space_text: the whole text of the space's file; empty for several spaces.
        family: of the space; for several spaces, all families, separated by commas.
        spaces: the spaces that were searched together; empty for a single space.
        budget: how many trials were asked for.
        cross_sizes: further sizes, on which only the leaders are timed.
        cross_share: the share of the time of trials and leaders together for these sizes, which
            are measured in order as long as it lasts; 0 for all, without a limit.
        leaders_chosen: whether, after the first few further sizes, only those leaders are timed on
            a size that may win there by the measurements so far.
        priors: paths of the records that the sampler learned from first.
        sampler_arguments: of a sampler of the user's own, as JSON; empty if it has none.
        observers: names of what was recorded besides times.
        objective: what the search minimised: `time`, or `energy` of one launch.
        kernels: descriptions and sources of hand-written kernels as JSON; empty if it has none.
        storage: the URL of the database without its password; empty for the folder's `run.db`.
    """

    mltune_version: str
    command: tuple[str, ...]
    contraction: Contraction
    alpha: Scalar = 1.0
    beta: Scalar = 0.0
    sizes: tuple[Size, ...]
    space: str
    space_text: str
    family: str
    device: DeviceInfo
    seed: int
    budget: int
    sampler: str
    timing: Timing
    host: Host = field(default_factory=Host.here)
    created: str = field(default_factory=_now)
    id: str = field(default_factory=new_run_id)
    storage: str = ""
    cross_sizes: tuple[Size, ...] = ()
    priors: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()
    objective: str = "time"
    kernels: str = ""
    sampler_arguments: str = ""
    cross_share: float = 0.0
    leaders_chosen: bool = False
    spaces: tuple[SearchedSpace, ...] = ()

    @property
    def searched_spaces(self) -> tuple[SearchedSpace, ...]:
        """The spaces that were searched, one or several."""
        return self.spaces or (SearchedSpace(self.space, self.family, self.space_text),)

    @property
    def families(self) -> tuple[str, ...]:
        """The kernel families of the spaces."""
        return tuple(dict.fromkeys(each.family for each in self.searched_spaces))

    def asked_of(self, device: DeviceInfo, command: tuple[str, ...]) -> Self:
        """Return the options for another device on this host, as another run."""
        return replace(
            self,
            device=device,
            command=command,
            host=Host.here(),
            created=_now(),
            id=new_run_id(),
            mltune_version=__version__,
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the search, one for each size."""
        return tuple(map(self._problem, self.sizes))

    @property
    def cross_problems(self) -> tuple[Problem, ...]:
        """The problems of the leaders' cross-benchmark: those of the search, then the others."""
        return tuple(dict.fromkeys(map(self._problem, (*self.sizes, *self.cross_sizes))))

    @property
    def final_problems(self) -> tuple[Problem, ...]:
        """The problems of the leaders' cross-benchmark that have no time limit."""
        return self.problems if self.cross_share else self.cross_problems

    def measured_on(self, measured: Iterable[Problem]) -> Self:
        """Return the same, with the cross sizes that were measured, if not all had to be."""
        if not self.cross_share:
            return self
        found = set(measured)
        sizes = tuple(size for size in self.cross_sizes if self._problem(size) in found)
        return replace(self, cross_sizes=sizes)

    @property
    def counts(self) -> dict[Problem, int]:
        """How often each size is called, for sizes of the search and further ones.

        Empty if all sizes of the search have the same count, as then nobody has counted.
        """
        if len({size.count for size in self.sizes}) == 1:
            return {}
        # a size in both lists has the count of the search
        sizes = (*self.cross_sizes, *self.sizes)
        return {self._problem(size): size.count for size in sizes}

    def _problem(self, size: Size) -> Problem:
        return problem_of_size(self.contraction, size.extents, self.alpha, self.beta)

    @property
    def space_hash(self) -> str:
        """Sixteen hex digits of the SHA-256 of the texts of the spaces."""
        text = "".join(each.text for each in self.searched_spaces)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return {
            "schema": SCHEMA_VERSION,
            "id": self.id,
            "mltune_version": self.mltune_version,
            "created": self.created,
            "command": list(self.command),
            "problem": problem_type_name(self.contraction),
            "contraction": self.contraction.name,
            "alpha": scalar_to_json(self.alpha),
            "beta": scalar_to_json(self.beta),
            "sizes": [size.to_json() for size in self.sizes],
            "space": self.space,
            "space_hash": self.space_hash,
            "space_text": self.space_text,
            "family": self.family,
            "device": self.device.to_json(),
            "seed": self.seed,
            "budget": self.budget,
            "sampler": self.sampler,
            "timing": asdict(self.timing),
            "host": asdict(self.host),
            "storage": self.storage,
            "cross_sizes": [size.to_json() for size in self.cross_sizes],
            "priors": list(self.priors),
            "observers": list(self.observers),
            "objective": self.objective,
            **({"spaces": [asdict(each) for each in self.spaces]} if self.spaces else {}),
            **({"kernels": self.kernels} if self.kernels else {}),
            **({"sampler_arguments": self.sampler_arguments} if self.sampler_arguments else {}),
            **({"cross_share": self.cross_share} if self.cross_share else {}),
            **({"leaders_chosen": True} if self.leaders_chosen else {}),
        }

    @classmethod
    def from_json(cls, data: Any) -> RunInfo:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when it is no such mapping, or of a newer schema.
        """
        read = Fields(data)
        schema = read.whole("schema")
        if schema > SCHEMA_VERSION:
            raise UsageError(
                f"its schema {schema} is newer than {SCHEMA_VERSION}, the newest that this "
                "mltune knows: update mltune"
            )
        read.only(_JSON_FIELDS)
        return cls(
            id=read.text("id"),
            mltune_version=read.text("mltune_version"),
            created=read.text("created"),
            command=read.texts("command"),
            contraction=Contraction.from_name(read.text("contraction")),
            alpha=_scalar(read, "alpha"),
            beta=_scalar(read, "beta"),
            sizes=tuple(Size.from_json(size) for size in read.items("sizes")),
            space=read.text("space"),
            space_text=read.text("space_text"),
            family=read.text("family"),
            device=DeviceInfo.from_json(read.get("device")),
            seed=read.whole("seed"),
            budget=read.whole("budget"),
            sampler=read.text("sampler"),
            timing=Timing.from_json(read.get("timing")),
            host=Host.from_json(read.get("host")),
            storage=read.text("storage"),
            cross_sizes=tuple(Size.from_json(size) for size in read.items("cross_sizes"))
            if "cross_sizes" in read
            else (),
            priors=read.texts("priors") if "priors" in read else (),
            observers=read.texts("observers") if "observers" in read else (),
            objective=read.text("objective") if "objective" in read else "time",
            kernels=read.text("kernels") if "kernels" in read else "",
            sampler_arguments=read.text("sampler_arguments")
            if "sampler_arguments" in read
            else "",
            cross_share=_share(read, "cross_share") if "cross_share" in read else 0.0,
            spaces=tuple(map(SearchedSpace.from_json, read.items("spaces")))
            if "spaces" in read
            else (),
            leaders_chosen=read.flag("leaders_chosen") if "leaders_chosen" in read else False,
        )


_JSON_FIELDS = frozenset(
    {field.name for field in fields(RunInfo)} | {"schema", "problem", "space_hash"}
)
"""The last two are for information: reading takes them from the contraction and the space's text.
"""


def _share(read: Fields, name: str) -> float:
    value = read.number(name)
    if not 0 <= value < 1:
        raise read.wrong(name, "0 to below 1")
    return value


def _scalar(read: Fields, name: str) -> Scalar:
    try:
        return scalar_from_json(read.get(name))
    except (TypeError, ValueError, IndexError, OverflowError):
        raise read.wrong(name, "a number or a list of two") from None
