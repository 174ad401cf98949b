"""The state of `mltune tune`: options, plan and progress, in one JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mltune import __version__
from mltune.errors import UsageError
from mltune.files import write_atomically
from mltune.problem import Size, parse_problem_type
from mltune.reading import parse_json, read_text
from mltune.run.fields import Fields
from mltune.workflow.tune_plan import LeftOut, Part

STATE_NAME = "tune.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The progress of one problem type's search.

    Attributes:
        seconds: of all sessions.
        trials: in its run.
        used_up: whether every config was tried.
        ahead_gain: the share of the time that 100 more trials are expected to save; None if
            unknown.
        over_default: speed / the default kernel's, geometric mean of the sizes; None if unknown.
        failure: why it has no result; empty if it has one or was not begun.
    """

    seconds: float = 0.0
    trials: int = 0
    used_up: bool = False
    ahead_gain: float | None = None
    over_default: float | None = None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_fields` reads back."""
        return {
            "seconds": round(self.seconds, 3),
            "trials": self.trials,
            "used_up": self.used_up,
            "ahead_gain": self.ahead_gain,
            "over_default": self.over_default,
            "failure": self.failure,
        }

    @classmethod
    def from_fields(cls, found: Fields) -> Self:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when a field is missing or of another type.
        """
        return cls(
            seconds=found.number("seconds"),
            trials=found.whole("trials"),
            used_up=found.flag("used_up"),
            ahead_gain=found.optional_number("ahead_gain"),
            over_default=found.optional_number("over_default"),
            failure=found.text("failure"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneState:
    """The content of a folder of `mltune tune`.

    Attributes:
        seconds: the time limit of all sessions together.
        device: the value of `--device`.
        model: of the device.
        spaces: the value of `--space`.
        against: libraries to compare with.
        languages: of the library.
        parts: of the plan, the most costly first.
        searched: the progress of each part.
    """

    seconds: float
    device: str
    model: str
    seed: int
    spaces: tuple[str, ...]
    against: tuple[str, ...]
    languages: tuple[str, ...]
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...] = ()
    searched: tuple[Searched, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.searched:
            object.__setattr__(self, "searched", (Searched(),) * len(self.parts))
        if len(self.searched) != len(self.parts):
            raise UsageError(f"{len(self.searched)} of {len(self.parts)} parts have a search")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `read_state` reads back."""
        return {
            "format": _FORMAT,
            "mltune_version": __version__,
            "seconds": self.seconds,
            "device": self.device,
            "model": self.model,
            "seed": self.seed,
            "spaces": list(self.spaces),
            "against": list(self.against),
            "languages": list(self.languages),
            "left_out": [{"what": each.what, "reason": each.reason} for each in self.left_out],
            "parts": [
                part.to_json() | {"searched": searched.to_json()}
                for part, searched in zip(self.parts, self.searched, strict=True)
            ],
        }


def write_state(state: TuneState, folder: Path) -> None:
    """Write a state into its folder.

    Raises:
        MltuneError: when it cannot be written.
    """
    write_atomically(folder / STATE_NAME, (json.dumps(state.to_json(), indent=1) + "\n").encode())


def read_state(folder: Path) -> TuneState:
    """Read the state of a folder.

    Raises:
        UsageError: when there is none, or it is damaged.
    """
    path = folder / STATE_NAME
    if not path.exists():
        raise UsageError(
            f"{folder}: holds no {STATE_NAME}, which `mltune tune` without --resume writes"
        )
    try:
        found = Fields(parse_json(read_text(path)))
        if found.whole("format") != _FORMAT:
            raise UsageError(f"was written by another mltune ({found.text('mltune_version')})")
        parts = [Fields(each, "parts") for each in found.items("parts")]
        return TuneState(
            seconds=found.number("seconds"),
            device=found.text("device"),
            model=found.text("model"),
            seed=found.whole("seed"),
            spaces=found.texts("spaces"),
            against=found.texts("against"),
            languages=found.texts("languages"),
            left_out=tuple(
                LeftOut(what=each.text("what"), reason=each.text("reason"))
                for each in (Fields(data, "left_out") for data in found.items("left_out"))
            ),
            parts=tuple(map(_part, parts)),
            searched=tuple(
                Searched.from_fields(Fields(each.get("searched"), "searched")) for each in parts
            ),
        )
    except (UsageError, ValueError) as error:
        raise UsageError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _part(found: Fields) -> Part:
    return Part(
        contraction=parse_problem_type(found.text("problem")),
        sizes=tuple(Size.from_json(each) for each in found.items("sizes")),
        # A folder of an older mltune lacks them.
        seconds=found.numbers("seconds") if "seconds" in found else (),
        calls=found.whole("calls"),
        covered=found.number("covered"),
        share=found.number("share"),
        families=found.texts("families"),
        interfaces=found.texts("interfaces"),
    )
