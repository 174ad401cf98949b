"""The shipped spaces by name, and those that `auto` stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.resources import data_folder
from mltune.unknown import unknown

AUTO = "auto"
"""The name of all shipped spaces that suit the device and the problem, together."""

AUTO_SPACES: dict[str, tuple[str, ...]] = {
    "cpu": ("packed-cpu", "direct", "tiled-cpu", "small"),
    "gpu": (
        "wgmma-nvidia",
        "wgmma-single-nvidia",
        "wgmma-halves-nvidia",
        "wgmma-rounded-nvidia",
        "mma-nvidia",
        "mma-double-nvidia",
        "mma-skinny-nvidia",
        "tiled-large-nvidia",
        "tiled-nvidia",
        "tiled-gpu",
        "direct",
        "sub-groups",
        "small",
        "thin",
        "dots",
    ),
}
"""The spaces of `auto`, by the kind of device; spaces without a config there are left out.

`tiled-gpu-wide` is missing, as `tiled-nvidia` contains it, and `small-vectors`, as it is for CPUs.
On a CPU `sub-groups` is slower than `direct`.
"""


def split_names(text: str | Sequence[str] | Path) -> tuple[str, ...]:
    """Return the names or paths of spaces that a user gave, as a list or separated by commas.

    Raises:
        UsageError: when one is empty.
    """
    given = [str(text)] if isinstance(text, str | Path) else [str(each) for each in text]
    names = [
        name.strip()
        for each in given
        for name in ([each] if Path(each).is_file() else each.split(","))
    ]
    if not names or not all(names):
        raise UsageError(f"--space: a name is empty in '{','.join(given)}'")
    return tuple(dict.fromkeys(names))


def find_space(name: str) -> Path:
    """Return the file of a space: a path, or the name of a shipped space.

    An existing path wins over a name; `spaces/NAME.yaml` is found from any folder.

    Raises:
        UsageError: when it is neither a path nor such a name.
    """
    path = Path(name)
    if path.exists():
        return path
    folder = data_folder("spaces")
    is_name = path.parent == Path() and not path.suffix
    packed = folder / (f"{name}.yaml" if is_name else path.name)
    if (is_name or path.parent == Path("spaces")) and packed.is_file():
        return packed
    if is_name:
        known = (AUTO, *(each.stem for each in folder.glob("*.yaml")))
        raise UsageError(f"--space: {unknown('space', name, known)}; or give a YAML file")
    return path


def label_of(name: str, path: Path) -> str:
    """Return a run's name for a space: the path that the user gave, or the shipped file's name."""
    return name if Path(name).exists() else path.name
