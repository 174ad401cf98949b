"""The spaces that ship with mltune, by name, and which of them `auto` stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.resources import data_folder
from mltune.space.domain import unknown

AUTO = "auto"
"""The name of every shipped space that device and problem allow, together."""

AUTO_SPACES: dict[str, tuple[str, ...]] = {
    "cpu": ("packed-cpu", "direct", "tiled-cpu", "small"),
    "gpu": (
        "wgmma-nvidia",
        "wgmma-single-nvidia",
        "wgmma-halves-nvidia",
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
    ),
}
"""What `auto` looks at, by the kind of device; those that are empty there are left out.

Not `tiled-gpu-wide`, which `tiled-nvidia` contains, nor `small-vectors`, which is
for CPUs now. On a CPU `sub-groups` is slower than `direct`. For what a device lacks, its rules
leave only the rest.
"""


def split_names(text: str | Sequence[str] | Path) -> tuple[str, ...]:
    """Return the names or paths of spaces that a user gave: separated by commas, or several.

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
    """Return the file of a space: a path, or the name of a space that ships.

    What lies at a path goes first; `spaces/NAME.yaml` is found from anywhere, too.

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
    """How a run calls a space: by the path that the user gave, or by the file that ships."""
    return name if Path(name).exists() else path.name
