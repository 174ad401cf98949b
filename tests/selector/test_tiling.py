import pytest

from mltune.selector import feature_value, features
from mltune.selector.tiling import CAP, MOST_USED, Tiling, tiling


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tiles_128x64", 2 * 3 * 5),
        ("waves_128x64_7", 5),
        ("idle_128x64_7", 5),
        ("idle_128x64_6", 0),
        ("used_128x64_7", 1024 * 129 * 192 * 5 // (5 * 7 * 128 * 64 + 1)),
        ("used_128x64_1", 1024 * 129 * 192 * 5 // (30 * 128 * 64 + 1)),
        ("used_1x1_1", 1023),
    ],
)
def test_counts(name: str, value: int) -> None:
    assert feature_value(features(129, 192, 1000, 5), name) == value


def test_of_nothing_is_nothing() -> None:
    values = features(0, 192, 1000, 5)

    counted = [feature_value(values, f"{kind}_128x64_7") for kind in ("waves", "idle", "used")]
    assert counted == [0, 0, 0]


def test_extents_are_capped() -> None:
    assert feature_value(features(2**62, 2**62, 1, 2**62), "tiles_1x1") == CAP**3
    for size in ((2**62, 7, 1, 3), (7, 2**62, 1, 3), (7, 3, 1, 2**62)):
        assert feature_value(features(*size), "tiles_1x1") == CAP * 21
        assert feature_value(features(*size), "used_1x1_1") == 1024 * CAP * 21 // (CAP * 21 + 1)


@pytest.mark.parametrize("kind", ["tiles", "waves", "idle", "used"])
def test_names_are_read_back(kind: str) -> None:
    counted = Tiling(kind, 128, 64, 1 if kind == "tiles" else 132)

    assert tiling(counted.name) == counted


@pytest.mark.parametrize(
    "name",
    [
        "tiles_128",
        "tiles_128x64_132",
        "waves_128x64",
        "idle_0x64_132",
        "waves_1x1_1 ",
        "m",
        "used_16385x64_132",
    ],
)
def test_other_names_are_none_of_them(name: str) -> None:
    assert tiling(name) is None


def test_what_is_used_of_the_largest_extents_fits_63_bits() -> None:
    counted = Tiling("used", MOST_USED, MOST_USED, 2**31)
    tiles = (CAP // MOST_USED) ** 2 * CAP

    assert 1024 * CAP**3 < 2**63
    assert -(-tiles // counted.slots) * counted.slots * MOST_USED**2 < 2**63
    assert counted.of_size()(2**62, 2**62, 1, 2**62) == 1024 * CAP**3 // (2**31 * MOST_USED**2 + 1)
