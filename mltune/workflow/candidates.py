"""The configs that a cost model may propose, stored beside it: measured ones, and their space."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError, naming
from mltune.files import write_atomically
from mltune.kernel.space_file import parse_space
from mltune.measurement import Status
from mltune.problem import Contraction
from mltune.reading import parse_json, read_bytes
from mltune.space import Config
from mltune.space.names import outside_names
from mltune.space.space import Space
from mltune.workflow.recorded import Recorded

CANDIDATES_NAME = "candidates.json"
_SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCandidates:
    """The candidates of `mltune predict` in one kernel family.

    Attributes:
        configs: measured, and right on every size they were measured on.
        space_text: of the space's file that they come from.
    """

    family: str
    configs: tuple[Config, ...]
    space: str
    space_text: str

    def bound_space(self, device: DeviceInfo, contraction: Contraction) -> Space:
        """Return the space on a device, for configs that were not measured.

        Raises:
            UsageError: when its text is wrong, or it is empty on this device.
        """
        names = outside_names(device, contraction)
        return parse_space(self.space_text, self.space).bind(names)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "family": self.family,
            "space": self.space,
            "space_text": self.space_text,
            "configs": [config.to_json() for config in self.configs],
        }

    @classmethod
    def from_json(cls, data: Any) -> FamilyCandidates:
        """Read what `to_json` wrote."""
        return cls(
            family=str(data["family"]),
            configs=tuple(Config.from_json(config) for config in data["configs"]),
            space=str(data["space"]),
            space_text=str(data["space_text"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates of `mltune predict`: configs of one or more kernel families."""

    contraction: Contraction
    families: tuple[FamilyCandidates, ...]

    @property
    def family_of(self) -> dict[Config, str]:
        """The name of every config's family; each config belongs to one."""
        return {config: each.family for each in self.families for config in each.configs}

    @classmethod
    def of(cls, recorded: Recorded) -> Candidates:
        """Collect the configs of recorded runs that never failed.

        The spaces of a family are those of the last run that searched it; the configs are stored
        with the first space.
        """
        failed = {m.config for m in recorded.measurements if m.status is not Status.OK}
        configs: dict[str, dict[Config, None]] = {}
        for m in recorded.measurements:
            if m.config not in failed:
                configs.setdefault(m.family, {})[m.config] = None
        latest = {name: info for info in recorded.infos for name in info.families}
        return cls(
            contraction=recorded.contraction,
            families=tuple(
                FamilyCandidates(
                    family=name,
                    configs=() if number else tuple(configs.get(name, ())),
                    space=space.name,
                    space_text=space.text,
                )
                for name, info in latest.items()
                for number, space in enumerate(
                    each for each in info.searched_spaces if each.family == name
                )
            ),
        )

    def write(self, folder: Path) -> None:
        """Write the file that `read` reads.

        Raises:
            MltuneError: when it cannot be written.
        """
        document = {
            "schema": _SCHEMA,
            "contraction": self.contraction.name,
            "families": [each.to_json() for each in self.families],
        }
        text = json.dumps(document, indent=1) + "\n"
        write_atomically(folder / CANDIDATES_NAME, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Candidates:
        """Read the candidates of a model folder.

        Raises:
            UsageError: when there are none, or the file is wrong.
        """
        path = folder / CANDIDATES_NAME
        try:
            with naming(path):
                data: Any = parse_json(read_bytes(path))
                if data["schema"] != _SCHEMA:
                    raise UsageError(f"schema must be {_SCHEMA}, got {data['schema']!r}")
                return cls(
                    contraction=Contraction.from_name(data["contraction"]),
                    families=tuple(FamilyCandidates.from_json(each) for each in data["families"]),
                )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: is no list of candidates ({error!r})") from error
