from __future__ import annotations

import gzip
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mltune.compat.foreign import read_recording
from mltune.compat.foreign.document import read_document
from mltune.compat.foreign.rows import Row, to_points
from mltune.errors import UsageError
from mltune.measurement.measurement import Status
from mltune.space.config import Config
from mltune.space.recorded import RecordedSpace

ROWS: list[dict[str, Any]] = [
    {"x": 1, "way": "a b", "time": 2.0},
    {"x": 2, "way": "c", "time": 0.5},
    {"x": 4, "way": "c", "time": "CompilationFailedConfig"},
    {"x": 8, "way": "c", "time": 1e20},
    {"x": 16, "way": "c", "__error__": "RuntimeFailedConfig"},
]
HEADER = {"device_name": "SharedTrials", "kernel_name": "Xgemm", "tune_params_keys": ["x", "way"]}


def cache_text(rows: list[dict[str, Any]]) -> str:
    lines = ",\n".join(f'"{number}": {json.dumps(row)}' for number, row in enumerate(rows))
    return json.dumps(HEADER)[:-1] + ',\n"cache": {\n' + lines + "}\n}"


def t4_row(x: int, value: object, invalidity: str = "correct") -> dict[str, Any]:
    return {
        "configuration": {"x": x},
        "invalidity": invalidity,
        "measurements": [{"name": "time", "value": value}],
    }


def row(where: str, **values: Any) -> Row:
    return Row(where, values, 1.0, Status.OK)


def test_rows_that_are_unlike_the_first_are_left_out_and_counted() -> None:
    first = row("a:1", x=1, y=2)
    unlike = row("a:2", x=1)

    points, note = to_points(
        [
            "a:0: 'time' is missing",
            first,
            unlike,
            row("a:3", x=[1], y=2),
            row("a:4", x=10**18, y=2),
            row("a:5", x=10**18 - 1, y=2),
            row("a:6", family="packed", x=3),
            row("a:7", x=1, y=2),
        ]
    )

    assert [dict(point.config) for point in points] == [
        {"x": 1, "y": 2},
        {"x": 10**18 - 1, "y": 2},
        {"family": "packed", "x": 3},
    ]
    assert note == "a:0: 'time' is missing; the row is left out, and 3 more"
    assert to_points([first, unlike])[1] == (
        "a:2: its parameters are not those of the first row; the row is left out"
    )
    assert to_points([first])[1] == ""
    with pytest.raises(UsageError, match=r"no usable row \(a:0: 'time' is missing\)"):
        to_points(["a:0: 'time' is missing"])
    with pytest.raises(UsageError, match=r"parameter 'x\\ud800' has characters that no file"):
        to_points([Row("a:8", {"x\ud800": 1}, 1.0, Status.OK)])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([1, 2.0, True], [1, 2, 1]),
        ([1, 2.5], ["_1", "_2.5"]),
        ([1, "x"], ["_1", "x"]),
        ([1, 1e18], ["_1", "_1e+18"]),
        (["a b", "a/b", "a_b", "a b"], ["a_b", "a_b_", "a_b__", "a_b"]),
    ],
)
def test_a_parameter_has_whole_numbers_or_different_words(
    written: list[Any], read: list[Any]
) -> None:
    rows = [row("here", x=value, number=number) for number, value in enumerate(written)]

    assert [point.config["x"] for point in to_points(rows)[0]] == read


def written(folder: Path, text: str) -> Path:
    path = folder / "file.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "rows", "damage"),
    [
        ('{"a": 1, "rows": {"x": {}}, "more": [2], "b": 3}', [{}], ""),
        ('{"more": [1, 2], "b": 3}', [1, 2], ""),
        ('\n{"more": [1,\n2 3]}', [1, 2], "line 3: cut off or no JSON, the rest is left out "
         "(expected ',' or ']', got '3')"),
        ('{"rows": [1], 2: 3}', [1], "line 1: cut off or no JSON, the rest is left out "
         "(a name must be a text)"),
        ('{"rows": [1]', [1], "line 1: cut off or no JSON, the rest is left out (it ends here)"),
    ],
)  # fmt: skip
def test_a_document_is_read_as_far_as_it_goes(text: str, rows: list[Any], damage: str) -> None:
    found = read_document(text, ("rows", "more"))

    assert [value for _, value in found.rows] == rows
    assert found.damage == damage
    if not damage:
        assert found.header == {
            name: value for name, value in json.loads(text).items() if name != found.rows_name
        }


@pytest.mark.parametrize(
    ("metadata", "seconds"),
    [
        ({"timeunit": "seconds"}, 2.0),
        ({"timeunit": "milliseconds"}, 0.002),
        ({"timeunit": "miliseconds"}, 0.002),
        ({"timeunit": "microseconds"}, 0.000002),
        ({"timeunit": "nanoseconds"}, 0.000000002),
        ({"timeunit": "us"}, 0.000002),
        ({}, 0.002),
    ],
)
def test_t4_times_have_a_unit(tmp_path: Path, metadata: dict[str, str], seconds: float) -> None:
    measurements = [7, {"name": "power", "value": 9}, {"name": "time", "value": 2}]
    rows: list[dict[str, Any]] = [
        {"configuration": {"x": 1}, "measurements": measurements},
        {"configuration": {"x": 2}, "invalidity": ["compile"], "measurements": measurements},
        {"configuration": [3], "measurements": measurements},
        {"configuration": {}, "measurements": measurements},
        {"configuration": {"x": 5}, "measurements": measurements[:2]},
    ]
    text = json.dumps({"metadata": metadata, "results": rows})

    found = read_recording(written(tmp_path, text))

    assert [(dict(point.config), point.seconds, point.status) for point in found.points] == [
        ({"x": 1}, seconds, Status.OK),
        ({"x": 2}, None, Status.INVALID),
    ]
    (note,) = found.notes
    assert note.endswith(
        "row 3: must be an object with a 'configuration'; the row is left out, and 2 more"
    )


@pytest.mark.parametrize("strange", ["0", "{}", '"text"'])
def test_a_document_has_a_limit_of_rows_that_are_none(strange: str) -> None:
    def text(count: int) -> str:
        return '{"rows": [' + ",".join(['{"x": 1}', *[strange] * count]) + "]}"

    assert len(read_document(text(10_000), ("rows",)).rows) == 10_001
    with pytest.raises(UsageError, match="more than 10,000 rows are no objects"):
        read_document(text(10_001), ("rows",))


def test_reads_a_cache_with_its_failures(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, cache_text(ROWS)))

    assert (recording.device, recording.problem, recording.notes) == ("SharedTrials", "Xgemm", ())
    assert [(p.seconds, p.status) for p in recording.points] == [
        (0.002, Status.OK),
        (0.0005, Status.OK),
        (None, Status.BUILD_ERROR),
        (None, Status.INVALID),
        (None, Status.LAUNCH_ERROR),
    ]
    assert recording.points[0].config == Config.of({"x": 1, "way": "a_b"})
    assert recording.optimum_seconds == 0.0005


def test_a_parameter_may_have_very_many_values(tmp_path: Path) -> None:
    rows = [{"x": number + 0.5, "way": "c", "time": 2.0} for number in range(40_000)]
    path = written(tmp_path, cache_text(rows))

    began = time.process_time()
    recording = read_recording(path)
    space = RecordedSpace("many", (point.config for point in recording.points))

    assert (space.size, len(space.parameters[1].values)) == (40_000, 40_000)
    assert time.process_time() - began < 5  # value by value it took 20


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ({"tune_params_keys": ["x"] * 30_000}, [{"x": x, "time": 1.0} for x in range(10_000)]),
        (
            {"tune_params_keys": [str(number) for number in range(30_000)]},
            [{"0": 1, "time": 1.0}] * 10_000,
        ),
    ],
)
def test_many_names_of_parameters_take_no_time(
    tmp_path: Path, header: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    cache = {str(number): row for number, row in enumerate(rows)}
    path = written(tmp_path, json.dumps({**header, "cache": cache}))

    began = time.process_time()
    with suppress(UsageError):  # of the second's rows each lacks parameters
        read_recording(path)

    assert time.process_time() - began < 2  # all of them for each row took 10


def test_many_kernel_families_take_no_time(tmp_path: Path) -> None:
    rows = [
        {"configuration": {"family": f"f{number}", f"x{number}": 1}, "invalidity": "compile"}
        for number in range(8_000)
    ]
    path = written(tmp_path, json.dumps({"results": rows}))

    began = time.process_time()
    assert len(read_recording(path).points) == 8_000

    assert time.process_time() - began < 2  # all rows for each parameter took 6


def test_a_gzipped_file_says_the_same(tmp_path: Path) -> None:
    plain = written(tmp_path, cache_text(ROWS))
    packed = tmp_path / "any.name"
    packed.write_bytes(gzip.compress(cache_text(ROWS).encode()))

    assert read_recording(packed).points == read_recording(plain).points


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("s", 2.0), ("us", 2e-6), ("nanoseconds", 2e-9), ("", 2e-3), ("ticks", 2e-3), (None, 2e-3)],
)
def test_the_unit_of_a_t4_measurement_counts(
    tmp_path: Path, unit: str | None, seconds: float
) -> None:
    row = t4_row(1, 2.0)
    row["measurements"][0]["unit"] = unit
    (tmp_path / "t4.json").write_text(json.dumps({"results": [row]}))

    (point,) = read_recording(tmp_path / "t4.json").points

    assert point.seconds == pytest.approx(seconds)


def test_reads_t4_results_in_their_unit(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "metadata": {"timeunit": "microseconds"},
            "results": [t4_row(1, 3.0), t4_row(2, None, "compile"), t4_row(4, 1, "timeout")],
        }
    )
    points = read_recording(written(tmp_path, text)).points

    assert [(p.seconds, p.status) for p in points] == [
        (pytest.approx(3e-6), Status.OK),
        (None, Status.BUILD_ERROR),
        (None, Status.TIMEOUT),
    ]


@pytest.mark.parametrize("value", [1e-320, 1e308, 10**400, -1, None, "1"])
@pytest.mark.parametrize("form", ["t4", "clblast"])
def test_a_time_that_cannot_be_is_a_wrong_row(tmp_path: Path, form: str, value: object) -> None:
    if form == "t4":
        top: dict[str, Any] = {"metadata": {"timeunit": "nanoseconds"}}
        rows: list[dict[str, Any]] = [t4_row(1, value), t4_row(2, 3.0)]
    else:
        top = {"kernel_family": "xgemm"}
        value = "-1" if value == -1 else value  # there, -1 is a failure
        rows = [{"parameters": {"x": x}, "time": time} for x, time in ((1, value), (2, 3e-6))]
    recording = read_recording(written(tmp_path, json.dumps({**top, "results": rows})))

    assert [p.seconds for p in recording.points] == [pytest.approx(3e-9)]
    (note,) = recording.notes
    assert "row 1: 'time' must be a number of 1e-12 to 1e9 seconds, got " in note


def test_a_time_that_cannot_be_is_told_in_seconds_too(tmp_path: Path) -> None:
    rows = [t4_row(1, 0.0005), t4_row(2, 3.0)]
    document = {"metadata": {"timeunit": "nanoseconds"}, "results": rows}

    (note,) = read_recording(written(tmp_path, json.dumps(document))).notes

    assert "must be a number of 1e-12 to 1e9 seconds, got 0.0005 (5e-13 s); the row" in note


def test_a_file_cut_anywhere_keeps_its_whole_rows(tmp_path: Path) -> None:
    text = cache_text(ROWS)
    first_end = text.index("}", text.index('"0"')) + 1
    counts = []
    for end in range(first_end, len(text)):
        recording = read_recording(written(tmp_path, text[:end]))
        (note,) = recording.notes
        assert note.startswith(f"{tmp_path / 'file.json'}: line ")
        assert "left out" in note
        counts.append(len(recording.points))

    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, len(ROWS))


def test_a_gzip_file_that_is_cut_keeps_what_can_be_unpacked(tmp_path: Path) -> None:
    rows = [
        {"x": number, "way": str(hash(str(number)) % 997), "time": 1.0} for number in range(900)
    ]
    data = gzip.compress(cache_text(rows).encode())
    path = tmp_path / "cut.json.gz"
    path.write_bytes(data[: len(data) * 3 // 4])
    recording = read_recording(path)

    assert 100 < len(recording.points) < 900
    assert recording.notes == (f"{path}: cut off within its gzip data, the rest is left out",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": 1, "time": 1.0},
        {"x": [1], "way": "a", "time": 1.0},
        {"x": 10**30, "way": "a", "time": 1.0},
        {"x": 1, "way": "a", "time": -1.0},
        {"x": 1, "way": "a", "time": float("nan")},
        {"x": 1, "way": "a", "time": True},
        {"x": 1, "way": "a", "time": 1e-320},
        {"x": 1, "way": "a", "time": 1e19},
        {"x": 1, "way": "a"},
        5,
    ],
)
def test_a_wrong_row_is_named_and_left_out(tmp_path: Path, wrong: Any) -> None:
    recording = read_recording(written(tmp_path, cache_text([*ROWS, wrong, wrong])))

    assert len(recording.points) == len(ROWS)
    (note,) = recording.notes
    assert "row '5': " in note
    assert note.endswith("; the row is left out, and 1 more")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "expected|ends here"),
        ("[]", "expected a JSON object"),
        ("{}", "no records"),
        ('{"cache": {}}', "tune_params_keys"),
        ('{"tune_params_keys": [], "cache": {"1": {}}}', "tune_params_keys"),
        ('{"tune_params_keys": "x", "cache": {"1": {"x": 1, "time": 1}}}', "tune_params_keys"),
        ('{"tune_params_keys": ["x", 1], "cache": {}}', "tune_params_keys"),
        (json.dumps({**HEADER, "cache": {}}), "no usable row"),
        ('{"results": []}', "no usable row"),
        ('{"results": 3}', "no usable row"),
        ('{"metadata": {"timeunit": "days"}, "results": []}', "timeunit"),
        ('{"metadata": {"timeunit": ["seconds"]}, "results": []}', "timeunit"),
        ('{"metadata": [], "results": []}', "timeunit"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 6_000 + "}", "line 1"),
    ],
)
def test_what_is_no_recording_is_one_line(tmp_path: Path, text: str, rule: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=rule) as caught:
        read_recording(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no UTF-8 text"):
        read_recording(path)
    with pytest.raises(UsageError, match="missing"):
        read_recording(tmp_path / "missing")
