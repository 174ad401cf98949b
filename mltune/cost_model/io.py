"""A cost model as a folder of data: `model.json` describes it, `forest.npz` has the trees."""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
import warnings
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from mltune.cost_model.estimate import TERMS, Estimate
from mltune.cost_model.features import Encoder
from mltune.cost_model.forest import Forest
from mltune.cost_model.model import BoostedModel
from mltune.cost_model.scores import Scores
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError, naming
from mltune.files import make_folder, write_atomically
from mltune.reading import read_bytes
from mltune.selector.checked import Checked, read_json

FORMAT = "mltune cost model"
SCHEMA_VERSION = 1
TARGET = "log(seconds / estimated seconds)"
MANIFEST, FOREST = "model.json", "forest.npz"

_ALWAYS_BYTES = 32 * 2**20
_MOST_TIMES = 50  # times the file's size, which a forest may unpack to


def save(model: BoostedModel, folder: Path) -> None:
    """Write a model into a folder, which is made if it does not exist.

    Raises:
        MltuneError: when it cannot be written.
    """
    packed = io.BytesIO()
    arrays: dict[str, Any] = model.forest.arrays()
    np.savez_compressed(packed, **arrays)
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "target": TARGET,
        "problem_types": list(model.problem_types),
        "rows": model.rows,
        "scores": None if model.scores is None else asdict(model.scores),
        "trained_with": model.trained_with,
        "device": model.device.to_json(),
        "numbers": list(model.encoder.numbers),
        "words": {name: list(words) for name, words in model.encoder.words},
        "features": list(model.encoder.names(model.device)),
        "estimate": dict(zip(TERMS, model.estimate.rates, strict=True)),
        "forest_sha256": hashlib.sha256(packed.getvalue()).hexdigest(),
    }
    # The manifest is written last: until then the folder has an old model or none.
    make_folder(folder)
    write_atomically(folder / FOREST, packed.getvalue())
    write_atomically(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def load(folder: Path) -> BoostedModel:
    """Read what `save` wrote. Everything in it is checked, and nothing in it is run.

    Raises:
        UsageError: when it is no such folder, or a file in it is damaged.
    """
    if folder.is_dir() and not (folder / MANIFEST).exists():
        raise UsageError(f"{folder}: holds no {MANIFEST}, which `mltune train` writes")
    document = read_json(folder / MANIFEST)
    if isinstance(document.value, dict) and document.value.get("format") != FORMAT:
        raise UsageError(f"{folder / MANIFEST}: not a cost model that `mltune train` wrote")
    manifest = document.fields(
        "format",
        "schema_version",
        "target",
        "problem_types",
        "rows",
        "scores",
        "trained_with",
        "device",
        "numbers",
        "words",
        "features",
        "estimate",
        "forest_sha256",
    )
    manifest["schema_version"].exactly(SCHEMA_VERSION)
    manifest["target"].exactly(TARGET)
    rates = manifest["estimate"].fields(*TERMS)
    encoder = Encoder(
        tuple(_texts(manifest["numbers"])),
        tuple((name, tuple(_texts(words))) for name, words in manifest["words"].items()),
    )
    forest = _forest(folder / FOREST, manifest["forest_sha256"].text())
    with naming(folder / MANIFEST):
        device = DeviceInfo.from_json(manifest["device"].value)
        if _texts(manifest["features"]) != list(encoder.names(device)):
            raise UsageError("its features are those of another version of mltune; train it again")
        return BoostedModel(
            device=device,
            encoder=encoder,
            estimate=Estimate(tuple(rates[term].number(0) for term in TERMS)),
            forest=forest,
            problem_types=tuple(_texts(manifest["problem_types"])),
            rows=manifest["rows"].whole(1, 2**53),
            scores=None if manifest["scores"].value is None else _scores(manifest["scores"]),
            trained_with=manifest["trained_with"].text(),
        )


def _texts(field: Checked) -> list[str]:
    return [entry.text() for entry in field.entries()]


def _scores(field: Checked) -> Scores:
    values = field.fields(*(known.name for known in fields(Scores)))
    return Scores(
        sizes=values["sizes"].whole(1, 2**53),
        rows=values["rows"].whole(1, 2**53),
        rmse_log=values["rmse_log"].number(0),
        spearman=values["spearman"].number(-1.001, 1.001),
        top_1=values["top_1"].number(0, 1),
        top_5=values["top_5"].number(0, 1),
    )


def _forest(path: Path, sha256: str) -> Forest:
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise UsageError(f"{path}: damaged, or not the forest that {MANIFEST} describes")
    names = [field.name for field in fields(Forest)]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != sorted(f"{n}.npy" for n in names):
                raise UsageError(f"{path}: expected the arrays {', '.join(names)}")
            most = max(_ALWAYS_BYTES, _MOST_TIMES * len(data))
            if sum(entry.file_size for entry in entries) > most:
                raise UsageError(f"{path}: unpacks to more than {most >> 20} MiB")
        with (
            naming(path),
            warnings.catch_warnings(action="error"),  # numpy only warns of odd headers
            np.load(io.BytesIO(data), allow_pickle=False) as arrays,
        ):
            return Forest(**{name: arrays[name] for name in names})
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        NotImplementedError,
        OSError,
        RuntimeError,
        SyntaxError,
        TypeError,
        UserWarning,
        ValueError,
        tokenize.TokenError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:  # what zipfile and numpy raise on other files
        first_line = (str(error) or type(error).__name__).splitlines()[0]
        raise UsageError(f"{path}: not a forest: {first_line}") from error
