"""The configs that a cost model may propose, kept beside it: those measured, and their space."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import Contraction
from mltune.record import Status
from mltune.record.files import write_atomically
from mltune.space import Config
from mltune.space.load import parse_space
from mltune.space.names import outside_names
from mltune.space.space import Space
from mltune.workflow.recorded import Recorded

CANDIDATES_NAME = "candidates.json"
_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What `mltune predict` chooses from.

    Attributes:
        configs: measured, and right on every size they were measured on.
        space_text: of the space's file that they come from.
    """

    contraction: Contraction
    family: str
    configs: tuple[Config, ...]
    space: str
    space_text: str

    @classmethod
    def of(cls, recorded: Recorded) -> Candidates:
        """Collect the configs of recorded runs that never failed."""
        failed = {m.config for m in recorded.measurements if m.status is not Status.OK}
        configs = dict.fromkeys(m.config for m in recorded.measurements if m.config not in failed)
        info = recorded.infos[-1]
        return cls(
            contraction=recorded.contraction,
            family=info.family,
            configs=tuple(configs),
            space=info.space,
            space_text=info.space_text,
        )

    def bound_space(self, device: DeviceInfo) -> Space:
        """Return the space on a device, for configs that nobody measured.

        Raises:
            UsageError: when its text is wrong, or it is empty on this device.
        """
        names = outside_names(device, self.contraction.precision)
        return parse_space(self.space_text, self.space).bind(names)

    def write(self, folder: Path) -> None:
        """Write the file that `read` reads.

        Raises:
            MltuneError: when it cannot be written.
        """
        document = {
            "schema": _SCHEMA,
            "contraction": self.contraction.name,
            "family": self.family,
            "space": self.space,
            "space_text": self.space_text,
            "configs": [config.to_json() for config in self.configs],
        }
        text = json.dumps(document, indent=1) + "\n"
        write_atomically(folder / CANDIDATES_NAME, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Candidates:
        """Read the candidates of a model folder.

        Raises:
            UsageError: when there are none, or the file is not right.
        """
        path = folder / CANDIDATES_NAME
        try:
            data: Any = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: is not JSON ({error})") from error
        try:
            if data["schema"] != _SCHEMA:
                raise UsageError(f"schema must be {_SCHEMA}, got {data['schema']!r}")
            return cls(
                contraction=Contraction.from_name(data["contraction"]),
                family=str(data["family"]),
                configs=tuple(Config.from_json(config) for config in data["configs"]),
                space=str(data["space"]),
                space_text=str(data["space_text"]),
            )
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: is no list of candidates ({error!r})") from error
