"""Packs: models/<device>/<problem type>/ with a selector for a device, shipped or the user's.

A name such as `nvidia-h200/sgemm_nn`, or `nvidia-h200/sgemm` for `sgemm_nn`, means a shipped pack.
A device without a pack gets the pack of the device with the most similar name, if they have a word
in common.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from mltune.errors import UsageError
from mltune.resources import data_folder

SELECTOR_NAME = "selector.json"

_log = logging.getLogger(__name__)


def find_selector(given: Path) -> Path:
    """Return the selector's file: `given` itself, in this folder, or in the pack of this name.

    Raises:
        UsageError: when `given` is a name and there is no such pack, or a folder without a
            selector.
    """
    if given.suffix == ".json":
        return given
    given = pack_folder(given)
    if not given.exists() and len(given.parts) == 1:
        if own := [pack.name for pack in packs() if pack.parent.name == given.name]:
            raise UsageError(
                f"{given}: is a device with {len(own)} packs; name one, such as {given}/{own[-1]}"
            )
        devices = _devices(packs())
        raise UsageError(f"{given}: no such folder, and no device with packs (devices: {devices})")
    if given.is_dir() and not (given / SELECTOR_NAME).exists():
        raise UsageError(f"{given}: holds no {SELECTOR_NAME}, which `mltune distil` writes")
    return given / SELECTOR_NAME


def pack_folder(given: Path) -> Path:
    """Return the shipped pack of this name, or else `given` itself.

    Raises:
        UsageError: when `given` has a pack's form, and there is neither a folder nor a pack.
    """
    if given.exists() or given.is_absolute() or len(given.parts) != 2:
        return given
    device, problem = given.parts
    return find_pack(device, problem, packs())


def find_selectors(given: Path) -> tuple[Path, ...]:
    """Return the selectors' files: those of `find_set`, or else the one of `find_selector`.

    Raises:
        UsageError: as `find_selector`.
    """
    return find_set(given) or (find_selector(given),)


def find_set(given: Path) -> tuple[Path, ...]:
    """Return the selectors' files of something with several; nothing if it is no such thing.

    That is the name of a device, or its first words, for all of its packs; a folder of `mltune
    tune`; or a folder with folders of selectors.
    """
    if not given.exists():
        known = packs() if len(given.parts) == 1 else ()
        names = {pack.parent.name for pack in known}
        longer = [name for name in names if name.startswith(f"{given.name}-")]
        wanted = longer[0] if given.name not in names and len(longer) == 1 else given.name
        return tuple(pack / SELECTOR_NAME for pack in known if pack.parent.name == wanted)
    if given.is_dir() and not (given / SELECTOR_NAME).exists():
        for folder in (given / "selectors", given):
            if found := tuple(sorted(folder.glob(f"*/{SELECTOR_NAME}"))):
                return found
    return ()


def packs() -> tuple[Path, ...]:
    """Return the folders of the shipped packs."""
    return tuple(
        sorted(path.parent for path in data_folder("models").glob(f"*/*/{SELECTOR_NAME}"))
    )


def find_pack(device: str, problem: str, known: Sequence[Path]) -> Path:
    """Return the pack of a device for a problem type, or the nearest one with a warning.

    Raises:
        UsageError: when there is none for this problem type, or all are for devices whose names
            have no word in common with this one's.
    """
    exact = [pack for pack in known if pack.name in (problem, f"{problem}_nn")]
    if not exact:
        raise UsageError(
            f"{device}/{problem}: no such folder, and no such pack (devices with packs: "
            f"{_devices(known)}; see mltune pack list)"
        )
    nearest = max(exact, key=lambda pack: _likeness(device, pack.parent.name))
    words, theirs = _words(device), _words(nearest.parent.name)
    if words.isdisjoint(theirs):
        if here := [pack.name for pack in known if pack.parent.name == device]:
            raise UsageError(
                f"{device}/{problem}: no such pack for this device, but {', '.join(here)} "
                f"(devices with {problem}: {_devices(exact)})"
            )
        raise UsageError(
            f"{device}/{problem}: no device like '{device}' is known (devices with {problem}: "
            f"{_devices(exact)}; tune yours: mltune tune --problems {problem} -o mine)"
        )
    if not words <= theirs:
        _log.warning(
            "%s/%s: there is no such pack; %s/%s is used, which was tuned for another device "
            "(tune yours: mltune tune --problems %s -o mine)",
            device,
            problem,
            nearest.parent.name,
            nearest.name,
            nearest.name,
        )
    return nearest


def _devices(known: Sequence[Path]) -> str:
    return ", ".join(dict.fromkeys(pack.parent.name for pack in known)) or "none"


def _words(device: str) -> set[str]:
    return set(device.lower().split("-"))


def _likeness(device: str, other: str) -> float:
    """Return the number of common words, plus the similarity of the letters."""
    letters = SequenceMatcher(None, device.lower(), other).ratio()
    return len(_words(device) & _words(other)) + letters
