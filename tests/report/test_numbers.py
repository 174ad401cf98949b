import pytest

from mltune.report.axis import Axis
from mltune.report.numbers import byte_size, log_ticks, number, percent, round_ticks, seconds


@pytest.mark.parametrize(
    ("value", "text"), [(1.5e-3, "1.5 ms"), (2e-7, "200 ns"), (3.0, "3 s"), (42e-6, "42 µs")]
)
def test_times_have_the_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text


def test_numbers_are_short() -> None:
    assert [number(v) for v in (0.0, 0.1234, 51234.6, 2e-7)] == ["0", "0.123", "51,235", "2.0e-07"]
    assert [number(v) for v in (999.4, 999.6, -51234.0, 1.5e-4)] == [
        "999", "1,000", "-51,234", "0.00015",
    ]  # fmt: skip
    assert [percent(share) for share in (0.0005, 0.001, 0.034, 0.1, 0.5)] == [
        "0.05 %", "0.1 %", "3.4 %", "10 %", "50 %",
    ]  # fmt: skip
    assert (number(-0.0), percent(-0.0)) == ("0", "0 %")
    assert [percent(share) for share in (-0.05, -0.5, 0.0994, 0.0996, 0.000996, -0.00004)] == [
        "-5.0 %", "-50 %", "9.9 %", "10 %", "0.1 %", "0 %",
    ]  # fmt: skip
    assert [byte_size(count) for count in (1023, 49152, 5 << 20, 139 << 30)] == [
        "1,023 B", "48 KiB", "5 MiB", "139 GiB",
    ]  # fmt: skip
    assert number(None) == seconds(None) == "\N{EN DASH}"


def test_ticks_are_round_and_within_the_ends() -> None:
    assert round_ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert round_ticks(93, 101) == [94, 96, 98, 100]
    assert round_ticks(0, 37) == [0, 10, 20, 30]
    assert log_ticks(0.9, 110) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(2, 50) == [2, 5, 10, 20, 50]
    assert log_ticks(1, 1000) == [1, 3, 10, 30, 100, 300, 1000]
    assert log_ticks(1, 1e7) == [10.0**power for power in range(8)][::2]
    assert log_ticks(7, 25) == [10, 15, 20, 25]  # 10 alone says nothing about the scale
    assert log_ticks(1.1, 1.2) == pytest.approx([1.1, 1.12, 1.14, 1.16, 1.18, 1.2])
    assert log_ticks(1, 8.1) == [1, 2, 5]
    assert 1 <= len(log_ticks(1e-9, 1e3)) <= 7


def test_extents_have_powers_of_two_as_ticks_and_never_none() -> None:
    axis = Axis.of_extents("N", [512, 4096])
    assert (axis.label, axis.log, axis.write(4096.0)) == ("N (log)", True, "4096")
    assert Axis.of_extents("N", [512]).ticks() == (512,)
    assert Axis.of_extents("N", [64, 256]).ticks() == (64, 128, 256)
    assert Axis.of_extents("N", [1, 3000, 200]).ticks() == (1, 4, 16, 64, 256, 1024, 4096)
    assert all(Axis.of_extents("N", [extent]).ticks() for extent in range(1, 5000))


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 5.0], [1e-6, 3.0]])
@pytest.mark.parametrize("log", [False, True])
def test_an_axis_has_a_place_for_every_value(values: list[float], log: bool) -> None:
    axis = Axis.around("a", values, log=log)

    assert all(0 <= axis.place(value) <= 1 for value in values)
    assert axis.ticks()


def test_the_middle_of_a_log_axis_is_the_geometric_mean_and_a_linear_one_begins_at_zero() -> None:
    assert Axis.around("a", [2.0, 50.0], log=True).place(10.0) == pytest.approx(0.5)
    assert Axis.around("a", [2.0, 50.0]).place(10.0) == pytest.approx(10 / 52.5)


def test_an_axis_of_zeros_alone_has_a_length() -> None:
    assert Axis.around("a", [0.0, 0.0]).place(0.0) == 0


def test_the_page_gets_the_ends_of_an_axis_or_the_places_of_its_names() -> None:
    names = Axis(label="", low=0, high=2, at=(0.0, 1.0), write=lambda place: "ab"[round(place)])

    assert Axis.around("a", [2.0, 50.0], write=seconds).for_script() == [0, 52.5, False, "seconds"]
    assert names.for_script() == [[0, "a"], [0.5, "b"]]
    assert Axis(label="", low=0, high=2, at=()).for_script() == []
