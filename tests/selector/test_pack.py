import logging
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.selector.json import read_selector
from mltune.selector.pack import SELECTOR_NAME, find_pack, find_selector, pack_folder, packs

KNOWN = (
    Path("amd-mi300/sgemm_nn"),
    Path("nvidia-a100/dgemm_nt"),
    Path("nvidia-h200/sgemm_nn"),
    Path("nvidia-h200/sgemm_nt"),
)


@pytest.mark.parametrize(
    ("problem", "found"),
    [("sgemm_nt", "sgemm_nt"), ("sgemm_nn", "sgemm_nn"), ("sgemm", "sgemm_nn")],
)
def test_a_name_without_transposes_means_none(
    problem: str, found: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert find_pack("nvidia-h200", problem, KNOWN) == Path("nvidia-h200") / found
    assert not caplog.records


def test_an_unknown_device_gets_the_nearest_pack_and_the_command_that_tunes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert find_pack("nvidia-h100", "sgemm", KNOWN) == Path("nvidia-h200/sgemm_nn")

    (record,) = caplog.records
    assert record.getMessage() == (
        "nvidia-h100/sgemm: there is no such pack; nvidia-h200/sgemm_nn is used, which was tuned "
        "for another device (tune yours: mltune tune --problems sgemm_nn -o mine)"
    )


def test_the_first_words_of_a_device_s_name_are_enough(caplog: pytest.LogCaptureFixture) -> None:
    known = (*KNOWN, Path("nvidia-h100-80gb-hbm3/sgemm_nn"))

    assert find_pack("nvidia-h100", "sgemm", known) == known[-1]
    assert find_pack("h100", "sgemm", known) == known[-1]
    assert not caplog.records


def test_a_device_that_is_like_no_other_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no device like 'nosuch' is known .* amd-mi300, n"):
        find_pack("nosuch", "sgemm", KNOWN)
    with pytest.raises(UsageError, match=r"^nosuch: no such folder, and no device with packs"):
        find_selector(Path("nosuch"))
    with pytest.raises(
        UsageError, match=r"^nvidia-h200: is a device with 12 packs; name one, such"
    ):
        find_selector(Path("nvidia-h200"))


def test_a_known_device_that_lacks_a_pack_is_told_which_it_has() -> None:
    known = (Path("pthread/sgemm_nn"), Path("nvidia-h200/dgemm_nn"))

    with pytest.raises(UsageError) as refused:
        find_pack("pthread", "dgemm_nn", known)

    assert str(refused.value) == (
        "pthread/dgemm_nn: no such pack for this device, but sgemm_nn (devices with dgemm_nn: "
        "nvidia-h200)"
    )


def test_a_problem_without_a_pack_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^x/zgemm: no such folder, and no such pack \(devices with packs: "
    ):
        find_pack("x", "zgemm", KNOWN)


def test_a_file_and_a_folder_are_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia-h200" / "sgemm").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    assert find_selector(Path("a/b.json")) == Path("a/b.json")
    (tmp_path / "nvidia-h200" / "sgemm" / SELECTOR_NAME).touch()
    assert find_selector(Path("nvidia-h200/sgemm")) == Path("nvidia-h200/sgemm") / SELECTOR_NAME


def test_a_pack_s_name_means_its_folder_and_other_paths_themselves(tmp_path: Path) -> None:
    assert pack_folder(Path("nvidia-h200/sgemm_nn")).is_dir()
    assert pack_folder(tmp_path) == tmp_path
    assert pack_folder(tmp_path / "none") == tmp_path / "none"
    assert pack_folder(Path("none")) == Path("none")
    with pytest.raises(UsageError, match=r"^no/such: no such folder, and no such pack"):
        pack_folder(Path("no/such"))


def test_a_folder_without_a_selector_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        find_selector(tmp_path)

    assert str(refused.value) == (
        f"{tmp_path}: holds no {SELECTOR_NAME}, which `mltune distil` writes"
    )


def test_every_pack_that_ships_is_whole() -> None:
    assert packs()
    for pack in packs():
        selector = read_selector(find_selector(Path(pack.parent.name, pack.name)))
        assert selector.regret is not None
        assert dict(selector.conditions)["device"]
        assert {"README.md", "candidates.json", "forest.npz", "model.json"} <= {
            file.name for file in pack.iterdir()
        }
