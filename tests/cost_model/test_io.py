import hashlib
import io
import json
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.cost_model import BoostedModel, fit, load, save
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement

MakeRows = Callable[..., list[Measurement]]


@pytest.fixture(scope="module")
def rows(make_rows: MakeRows) -> list[Measurement]:
    return make_rows(8, 3)


@pytest.fixture(scope="module")
def model(rows: list[Measurement], device: DeviceInfo) -> BoostedModel:
    return fit(rows, device, folds=2)


@pytest.fixture(scope="module")
def saved(model: BoostedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "one"
    save(model, folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A saved model that a test may damage."""
    return shutil.copytree(saved, tmp_path / "models" / "one")


def test_what_is_loaded_predicts_the_same(
    model: BoostedModel, rows: list[Measurement], folder: Path
) -> None:
    loaded = load(folder)
    configs = [row.config for row in rows]

    assert np.array_equal(
        loaded.predict(rows[0].problem, configs), model.predict(rows[0].problem, configs)
    )
    for name in ("device", "encoder", "estimate", "problem_types", "rows", "scores"):
        assert getattr(loaded, name) == getattr(model, name)


def test_the_forest_is_written_by_numpy_2_0_too(
    model: BoostedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_numpy_2_0(file: io.BytesIO, **arrays: Any) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as entry:
                    np.lib.format.write_array(entry, np.asanyarray(array))

    monkeypatch.setattr(np, "savez_compressed", of_numpy_2_0)
    save(model, tmp_path / "one")

    assert load(tmp_path / "one").rows == model.rows


def test_predicting_loads_no_learning_library(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mltune.cost_model import load;"
        "load(Path(sys.argv[1])); assert 'sklearn' not in sys.modules, 'sklearn was loaded'"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


def refused(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder)
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "other", "not a cost model that `mltune train` wrote"),
        ("schema_version", 2, "schema_version: expected 1, got 2"),
        ("target", "seconds", "target: expected 'log(seconds / estimated seconds)'"),
        ("device", {}, "model.json: device: field "),
        ("device", [], "device: expected a mapping, got list"),
        ("numbers", ["depth_u"], "features are those of another version of mltune"),
        ("words", [], "words: expected a mapping"),
        ("estimate", {"flops": 1}, "estimate: field 'bytes' is missing"),
        ("rows", 0, "rows: expected a whole number"),
        ("scores", {}, "scores: field 'sizes' is missing"),
        ("forest_sha256", "0" * 64, "forest.npz: damaged, or not the forest"),
        ("spare", 1, "unknown field 'spare'"),
    ],
)
def test_a_wrong_field_is_named(folder: Path, field: str, value: Any, message: str) -> None:
    manifest = json.loads((folder / "model.json").read_text())
    manifest[field] = value
    (folder / "model.json").write_text(json.dumps(manifest))

    assert message in refused(folder)


def test_rates_that_give_no_time_are_refused(folder: Path) -> None:
    manifest = json.loads((folder / "model.json").read_text())
    manifest["estimate"] = dict.fromkeys(manifest["estimate"], 0.0)
    (folder / "model.json").write_text(json.dumps(manifest))

    assert "model.json: estimate: rates must be positive or 0" in refused(folder)


def replace_forest(folder: Path, data: bytes) -> None:
    """Replace the forest by other bytes with the right hash: a forgery, not an accident."""
    (folder / "forest.npz").write_bytes(data)
    manifest = json.loads((folder / "model.json").read_text())
    manifest["forest_sha256"] = hashlib.sha256(data).hexdigest()
    (folder / "model.json").write_text(json.dumps(manifest))


def packed(**arrays: Any) -> bytes:
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def test_a_forged_forest_is_refused(model: BoostedModel, folder: Path) -> None:
    arrays = model.forest.arrays()
    loop = arrays["low"].copy()
    loop[0] = 0
    far = arrays["feature"].copy()
    far[arrays["feature"] >= 0] = 10_000
    for forged, message in (
        (packed(**{**arrays, "low": loop}), "a child does not stand after its parent"),
        (packed(**{**arrays, "feature": far}), "a tree asks about feature 10000 of"),
        (packed(**{**arrays, "value": np.array([object()])}), "not a forest: "),
        (packed(**{**arrays, "extra": loop}), "expected the arrays roots, feature"),
        (packed(low=loop), "expected the arrays roots, feature"),
        (b"", "not a forest: "),
        (b"PK\x05\x06" + b"\0" * 18, "expected the arrays roots"),
    ):
        replace_forest(folder, forged)
        assert message in refused(folder)


def test_an_archive_that_unpacks_to_too_much_is_refused(
    model: BoostedModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.cost_model.io._ALWAYS_BYTES", 1000)
    monkeypatch.setattr("mltune.cost_model.io._MOST_TIMES", 0)

    assert "forest.npz: unpacks to more than 0 MiB" in refused(folder)


def test_random_damage_never_ends_in_anything_but_one_line(folder: Path) -> None:
    rng = random.Random(0)
    for name in ("forest.npz", "model.json"):
        good = (folder / name).read_bytes()
        for _ in range(60):
            data = bytearray(good)
            for _ in range(rng.choice([1, 1, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
            damaged = bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
            if name == "forest.npz":
                replace_forest(folder, damaged)
            else:
                (folder / name).write_bytes(damaged)
            try:
                load(folder)
            except UsageError as error:
                assert "\n" not in str(error)  # noqa: PT017 - damage in a score may go unnoticed
        (folder / name).write_bytes(good)


def test_damage_inside_the_arrays_headers_is_one_line(model: BoostedModel, folder: Path) -> None:
    rng = random.Random(1)
    names = list(model.forest.arrays())
    for _ in range(80):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for name, array in model.forest.arrays().items():
                entry = io.BytesIO()
                np.save(entry, array)
                raw = bytearray(entry.getvalue())
                if name == rng.choice(names):
                    for _ in range(3):
                        raw[rng.randrange(min(128, len(raw)))] = rng.randrange(256)
                archive.writestr(f"{name}.npy", bytes(raw))
        replace_forest(folder, data.getvalue())
        try:
            load(folder)
        except UsageError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some damage makes no difference


def test_files_that_are_not_there_are_named(folder: Path, tmp_path: Path) -> None:
    assert "model.json: cannot read (No such file" in refused(tmp_path / "nowhere")
    (folder / "forest.npz").unlink()
    assert "forest.npz: cannot read (No such file" in refused(folder)


def test_a_folder_that_cannot_be_written_is_named(model: BoostedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=": is a file, not a folder"):
        save(model, tmp_path / "file")
