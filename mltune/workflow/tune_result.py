"""The result of `mltune tune`: selectors, gain, and the next commands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.counted import counted
from mltune.device_info import DeviceInfo
from mltune.shell import command, is_preloadable
from mltune.workflow.distil import DistilResult
from mltune.workflow.export import DEFAULT_NAME
from mltune.workflow.program_gain import Against
from mltune.workflow.tune_plan import SEARCHING, Part
from mltune.workflow.tune_state import Searched, TuneState

CLBLAST = "clblast"
"""The language whose library replaces CLBlast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """One problem type that was tuned."""

    part: Part
    searched: Searched
    distilled: DistilResult

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        regret = self.distilled.selector.regret
        return {
            "problem": self.part.name,
            "trials": self.searched.trials,
            "seconds": self.searched.seconds,
            "kernels": len(self.distilled.selector.portfolio),
            "selector": str(self.distilled.path),
            "unseen_sizes": regret.geomean if regret else None,
            "ahead_gain": self.searched.ahead_gain,
            "over_default": self.searched.over_default,
        }


@dataclass(frozen=True, slots=True)
class Written:
    """A library in one language; in some languages there is one for each problem type."""

    language: str
    folder: Path

    @property
    def command(self) -> str:
        """The command that uses it."""
        folder = command(self.folder)
        if self.language == "clblast":
            library = self.folder / f"lib{DEFAULT_NAME}_clblast.so"
            if is_preloadable(library):
                return f"make -C {folder} && LD_PRELOAD={command(library)} PROGRAM"
            copied = f"cp {command(library)} ."
            return f"make -C {folder} && {copied} && LD_PRELOAD=./{library.name} PROGRAM"
        return f"{self.verb} {folder}"

    @property
    def verb(self) -> str:
        """The beginning of the command, before the folder."""
        return {"c": "make -C", "python": "pip install"}.get(self.language, "ls")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """The selectors and the gain.

    Attributes:
        tuned: problem types with a selector; empty for a dry run.
        libraries: of all of them.
        against: the comparisons with libraries.
        without_rule: problem types whose rule failed, and why.
        lacking: what else is unknown, and why.
        seconds: of this session.
        stopped: why it ended early; empty if it did not.
    """

    folder: Path
    state: TuneState
    device: DeviceInfo
    tuned: tuple[Tuned, ...] = ()
    libraries: tuple[Written, ...] = ()
    against: tuple[Against, ...] = ()
    without_rule: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False
    stopped: str = ""

    def __repr__(self) -> str:  # one line: each selector has a tree
        tuned = counted(len(self.tuned), "problem type")
        return f"<TuneResult on {self.device.name}: {tuned}, {self.folder}>"

    @property
    def exit_code(self) -> int:
        """The exit code: 0, 1 without a rule, 4 without the device, or 130 if interrupted."""
        return 130 if self.interrupted else 4 if self.stopped else 1 if self.without_rule else 0

    @property
    def is_counted(self) -> bool:
        """Whether the number of the program's calls is known."""
        return all(part.is_counted for part in self.state.parts)

    def unseen(self, against: Against) -> int:
        """Return the number of compared sizes that no kernel was timed on before."""
        seen = {
            (each.part.name, size[:3]) for each in self.tuned for size in each.distilled.seen_sizes
        }
        return sum((each.problem, each.size[:3]) not in seen for each in against.sizes)

    @property
    def program_seconds(self) -> float | None:
        """The program's own time for the calls of the compared sizes; None if it is unknown."""
        known = {
            (part.name, size.extents): seconds
            for part in self.state.parts
            for size, seconds in zip(part.sizes, part.seconds, strict=False)
        }
        sizes = self.against[0].sizes if self.against else ()
        found = [known[key] for each in sizes if (key := (each.problem, each.size)) in known]
        return math.fsum(found) if found and len(found) == len(sizes) else None

    @property
    def ahead_gain(self) -> float | None:
        """The share of the time that more trials should save, weighted by the parts' shares."""
        known = [
            (part.share, each.ahead_gain)
            for part, each in zip(self.state.parts, self.state.searched, strict=True)
            if each.ahead_gain is not None
        ]
        total = math.fsum(share for share, _ in known)
        return math.fsum(share * gain for share, gain in known) / total if total else None

    @property
    def next_commands(self) -> tuple[str, ...]:
        """The commands to type next, each behind the words for it."""
        return tuple(f"{words}: {line}" for words, line in self.following)

    @property
    def following(self) -> tuple[tuple[str, str], ...]:
        """The commands to type next, with words for each."""
        if not self.tuned and not self.interrupted and not self.stopped:
            return ()
        spent = math.fsum(each.seconds for each in self.state.searched)
        longer = f"{2 * max(self.state.seconds, spent / SEARCHING):.0f}s"
        resume = ("mltune", "tune", "--resume", "-o", self.folder)
        if self.interrupted or self.stopped:
            return ((f"{self.stopped or 'interrupted'}; resume with", command(*resume)),)
        uses = tuple(("next", line) for line in self._uses)
        if all(each.used_up for each in self.state.searched):
            return uses
        return (*uses, ("or more of it", command(*resume, "--time", longer)))

    @property
    def _uses(self) -> Iterator[str]:
        """Yield a command for each language."""
        for language in dict.fromkeys(each.language for each in self.libraries):
            first, *others = (each for each in self.libraries if each.language == language)
            folder = command(first.folder.parent)
            yield f"{first.verb} {folder}/*/" if others else first.command

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "folder": str(self.folder),
            "device": self.device.name,
            "driver": self.device.driver_version,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "plan": self.state.to_json(),
            "tuned": [each.to_json() for each in self.tuned],
            "libraries": [
                {"language": each.language, "folder": str(each.folder)} for each in self.libraries
            ],
            "against": {each.library: each.to_json() for each in self.against},
            "ahead_gain": self.ahead_gain,
            "without_rule": list(self.without_rule),
            "lacking": list(self.lacking),
        }
