from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.problem import problem_of_size
from mltune.report.content import Selection, TrialPoint
from mltune.report.loss import portfolio_curve, regret_strips
from mltune.report.parameters import importance_bars, small_multiples
from mltune.report.plot import BOTTOM, LEFT, RIGHT, WIDTH
from mltune.report.speed import (
    best_so_far,
    by_speed,
    colours_of,
    kernel_class,
    kernel_letter,
    size_map,
)
from mltune.report.tree import draw_tree
from mltune.run.run import read_info
from mltune.run.run_info import RunInfo
from mltune.selector import Leaf, PortfolioKernel, Selector, Split
from mltune.space.config import Config
from mltune.workflow.report import report
from tests.report.conftest import SHIPPED

MakeRun = Callable[..., Path]
Shipped = tuple[RunInfo, list[Measurement]]

SECTIONS = (
    *("best", "peak", "search", "maps", "parameters", "model", "selection", "effort"),
    *("failures", "measurements", "environment", "next"),
)
FIGURES = (
    *("roofline", "progress", "importance", "speed-map", "kernel-map", "parameters"),
    *("calibration", "portfolio", "regret", "leaf-map"),
)
VOID = {"meta", "input"}


class Outline(HTMLParser):
    """Ids, elements and attributes of a page; every element must be closed where it belongs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]


def page_of(folder: Path) -> str:
    return report(folder, None).path.read_text()


def test_has_every_section_and_every_figure(shipped_page: Path) -> None:
    page = Outline(shipped_page.read_text())

    assert [name for name in page.ids if name in SECTIONS] == list(SECTIONS)
    assert {f"figure-{name}" for name in FIGURES} <= set(page.ids)
    assert {"figure-formulas", "figure-tree"} & set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_loads_nothing_and_stays_small(shipped_page: Path) -> None:
    page = Outline(shipped_page.read_text())

    assert shipped_page.stat().st_size < 1_000_000
    assert not re.search(r"https?://|url\(|@import", shipped_page.read_text())
    assert not {"link", "img", "iframe", "object", "embed", "base", "use"} & set(page.names)
    assert not {"src", "xlink:href", "action"} & {name for name, _ in page.attributes}
    links = [value for name, value in page.attributes if name == "href"]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(page.ids)


def test_states_what_ran_where_and_the_best_of_each_size(
    shipped_page: Path, shipped: Shipped
) -> None:
    page = shipped_page.read_text()
    info, _ = shipped

    device = info.device
    for words in (f"sgemm_nn on {device.name}", device.driver_version, info.created[:10]):
        assert words in page
    assert all(f"<td>{size.label}</td>" in page for size in info.sizes)
    assert "nan" not in re.findall(r"[a-z]+", re.sub(r"<script.*", "", page, flags=re.S))


def test_holds_every_measurement_as_data(shipped_page: Path, shipped: Shipped) -> None:
    data = re.search(r'id="data">(.*?)</script>', shipped_page.read_text(), re.S)

    assert data is not None
    assert len(json.loads(data[1])["rows"]) == len(shipped[1])


@pytest.mark.parametrize("tiles", [(1,), (1, 2)])
def test_a_tiny_run_has_every_section(make_run: MakeRun, tiles: tuple[int, ...]) -> None:
    page = page_of(make_run(tiles=tiles))

    assert [name for name in Outline(page).ids if name in SECTIONS] == list(SECTIONS)
    assert "Maps need three sizes" in page
    assert "needs at least two sizes" in page


def test_two_sizes_are_enough_for_held_out_figures(make_run: MakeRun) -> None:
    page = Outline(page_of(make_run(sizes=((64, 64, 64), (128, 32, 16)))))

    assert {"figure-calibration", "figure-regret"} <= set(page.ids)


def test_a_grid_of_sizes_has_a_small_mark_each(make_run: MakeRun) -> None:
    sides = range(16, 16 * 6, 16)
    page = page_of(make_run(sizes=tuple((m, n, 64) for m in sides for n in sides), tiles=(2,)))

    assert page.count('class="mark"') == len(sides) ** 2


def test_marks_of_several_k_hide_neither_each_other_nor_the_axis(shipped: Shipped) -> None:
    info, rows = shipped
    plain = next(row for row in rows if row.status is Status.OK)
    ks = [64 * 2**power for power in range(7)]
    sizes = [(256, n, k) for n in (1, 64, 4096) for k in ks]
    sizes += [(m, 64, 64) for m in (1, 512, 65536)]
    best = [replace(plain, problem=problem_of_size(info.contraction, size)) for size in sizes]

    page = size_map(best, "Speeds", by_speed(best)[0], {})

    marks = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', page)
    places = sorted((float(y), float(x), float(x) + float(wide)) for x, y, wide in marks)
    assert len(places) == len(sizes)
    assert all(begin >= LEFT and end <= WIDTH - RIGHT for _, begin, end in places)
    assert max(places)[0] + 22 < 400 - BOTTOM
    assert all(
        after[1] > before[2] - 0.2 for before, after in pairwise(places) if after[0] == before[0]
    )
    assert len(set(re.findall(r'data-beside="([^"]*)"', page))) == 6  # these stay side by side
    lettered = size_map(best, "Kernels", lambda row: (None, "k0", "A"), {})
    assert lettered.count("</text>") - page.count("</text>") == 3  # on those that are wide enough
    assert lettered.count("data-beside") - page.count("data-beside") == 3


def test_marks_of_a_thousand_k_are_all_in_the_picture(shipped: Shipped) -> None:
    info, rows = shipped
    plain = next(row for row in rows if row.status is Status.OK)
    sizes = [(128, 1, k) for k in range(1, 1001)]
    best = [replace(plain, problem=problem_of_size(info.contraction, size)) for size in sizes]

    page = size_map(best, "Speeds", by_speed(best)[0], {})

    marks = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', page)
    middles = [float(x) + float(wide) / 2 for x, wide in marks]
    assert len(marks) == len(sizes)
    assert LEFT < min(middles) < LEFT + 1
    assert WIDTH - RIGHT - 1 < max(middles) < WIDTH - RIGHT


def test_evenly_spaced_sizes_stand_evenly_with_the_colours_of_their_speeds(
    shipped: Shipped,
) -> None:
    info, rows = shipped
    plain = next(row for row in rows if row.status is Status.OK)
    problems = [problem_of_size(info.contraction, (64, n, 64)) for n in range(100, 700, 100)]
    best = [
        replace(plain, problem=problem, seconds=(problem.flops / 1e9 / 10**power,))
        for power, problem in enumerate(problems[:5])
    ]

    even = size_map(
        [*best, replace(best[0], problem=problems[5])], "Speeds", by_speed(best)[0], {}
    )
    few = size_map(best, "Speeds", by_speed(best)[0], {})

    lefts = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', even)]
    steps = [after - before for before, after in pairwise(lefts)]
    assert steps == pytest.approx([steps[0]] * 5, abs=0.2)
    assert re.findall(r'fill="(#\w+)"', few) == colours_of([1, 10, 100, 1000, 10_000])
    assert ">256<" in few
    assert ">256<" not in even


@pytest.mark.parametrize(
    "widths", [range(1000, 1101, 10), (700, 790, 870, 950, 1040, 1130), (1000, 1010, 1020)]
)
def test_sizes_that_are_alike_do_not_hide_each_other(
    shipped: Shipped, widths: Sequence[int]
) -> None:
    info, rows = shipped
    plain = next(row for row in rows if row.status is Status.OK)
    sizes = [(64, n, 64) for n in widths]
    best = [replace(plain, problem=problem_of_size(info.contraction, size)) for size in sizes]

    page = size_map(best, "Speeds", by_speed(best)[0], {})

    marks = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', page)
    ends = [(float(x), float(x) + float(wide)) for x, wide in marks]
    assert all(end < begin for (_, end), (begin, _) in pairwise(ends))
    assert ends[0][0] > LEFT
    assert ends[-1][1] < WIDTH - RIGHT


def test_the_best_so_far_is_a_line_above_all_trials_with_failures_at_the_bottom() -> None:
    speeds = (2.0, None, 4.0, 1.0)
    trials = [
        TrialPoint(number, Config.of({"x": number}), speed, Status.OK if speed else Status.TIMEOUT)
        for number, speed in enumerate(speeds)
    ]

    drawn = best_so_far(trials)

    (line,) = re.findall(r'points="([^"]*)"', drawn)
    corners = [tuple(map(float, corner.split(","))) for corner in line.split()]
    right, wrong = re.findall(r'd="(M[^"]*)"', drawn)
    dots = [tuple(map(float, dot)) for dot in re.findall(r"M([\d.]+) ([\d.]+)h0", right)]
    ends = [(place, dots[1][1]) for place in (dots[2][0], WIDTH - RIGHT)]
    assert list(dict.fromkeys(corners)) == [dots[0], (dots[1][0], dots[0][1]), dots[1], *ends]
    assert dots[1][1] < dots[0][1] < dots[2][1]
    assert re.findall(r"M([\d.]+) ([\d.]+)h0", wrong)[0][1] == f"{300 - BOTTOM:.1f}"
    assert 'data-hints="trial 1: timeout"' in drawn
    assert "trial 0: 2 GFLOP/s\ntrial 2: 4 GFLOP/s" in drawn


def test_speeds_have_the_colours_of_viridis_by_their_log() -> None:
    assert colours_of([1, 10, 100, 1000, 10_000]) == [
        "#440154", "#3b528b", "#21918c", "#5ec962", "#fde725",
    ]  # fmt: skip
    assert colours_of([1, 10**0.125, 10]) == ["#440154", "#40296f", "#fde725"]
    assert colours_of([7.0, 7.0]) == ["#440154"] * 2


def test_kernels_have_letters_and_beyond_z_a_number_too() -> None:
    letters = [kernel_letter(index) for index in (0, 25, 26, 51, 52)]

    assert letters == ["A", "Z", "A1", "Z1", "A2"]
    assert [kernel_class(index) for index in (0, 7, 8, 26)] == ["k0", "k7", "kx", "kx"]


def test_a_parameter_that_varied_has_its_trials_as_dots_and_their_median_as_a_bar() -> None:
    speeds = ((1, 1.0), (1, 2.0), (1, 9.0), (4, 3.0), (4, None))
    trials = [
        TrialPoint(number, Config.of({"x": x, "same": 7}), speed, Status.OK)
        for number, (x, speed) in enumerate(speeds)
    ]

    page = small_multiples(trials, ())

    assert re.findall("<title>(.*?)</title>", page) == ["Speed by x"]
    assert re.findall(r'data-hints="([^"]*)"', page) == [
        "x 1: 1 GFLOP/s\nx 1: 2 GFLOP/s\nx 1: 9 GFLOP/s\nx 4: 3 GFLOP/s"
    ]
    ticks = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="183"', page)]
    dots = [float(x) for x, _ in re.findall(r"M([\d.]+) ([\d.]+)h0", page)]
    assert [min(ticks, key=lambda tick, x=x: abs(tick - x)) for x in dots] == [  # type: ignore[misc]
        *[ticks[0]] * 3,
        ticks[1],
    ]
    bars = re.findall(r'<polyline points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)"', page)
    middles = [((float(x) + float(to)) / 2, float(y)) for x, y, to, _ in bars]
    assert [x for x, _ in middles] == pytest.approx(ticks, abs=0.1)
    assert [y for _, y in middles] == pytest.approx(
        [166 - 154 * m / 9.45 for m in (2, 3)], abs=0.1
    )


def test_the_bars_of_importance_are_as_long_as_it_is() -> None:
    page = importance_bars([("depth_u", 0.4), ("y", 0.2), ("x", -0.1)])

    wide = [float(each) for each in re.findall(r'width="([\d.]+)" height', page)]
    assert wide[0] == pytest.approx(2 * wide[1], abs=0.1)
    assert wide[2] == 1
    assert re.findall(r">([^<>]+)</text>", page)[1::2] == ["0.4", "0.2", "-0.1"]


def test_a_long_word_below_a_picture_of_a_parameter_is_shortened() -> None:
    words = ("multiple", "multiple_single_kernel", "single")
    trials = [
        TrialPoint(number, Config.of({"way": word, "tile": 1000 * 10**number}), 1.0, Status.OK)
        for number, word in enumerate(words)
    ]

    ticks = re.findall(r'text-anchor="middle">([^<]*)<', small_multiples(trials, ("way",)))

    assert ticks[:4] == ["multiple", "…e_kernel", "single", "way"]
    assert ticks[4:] == ["1000", "10000", "100000", "tile"]


def test_a_long_name_of_a_parameter_is_in_its_picture() -> None:
    name = "global_split_u_summation_assignment_round_robin"
    trials = [TrialPoint(one, Config.of({name: one, "x": one}), 1.0, Status.OK) for one in (0, 1)]

    page = small_multiples(trials, (name,))

    place = {words: float(x) for x, words in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', page)}
    assert place["x"] == 179  # the middle of the axis
    shown = f"…{name[-41:]}"
    assert place[shown] == pytest.approx(155, abs=1)  # about that of the picture
    assert f">…{name[-23:]}<" in importance_bars([(name, 0.1)])


def test_a_tree_and_bars_are_within_their_pictures() -> None:
    tree = Split("m", 64, Leaf(0), Split("n", 2, Split("k", 3, Leaf(1), Leaf(0)), Leaf(1)))

    for page in (draw_tree(tree), importance_bars([("depth_u", 0.5), ("x", -0.1), ("y", 0.2)])):
        wide, high = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', page)[0])
        rects = re.findall(
            r'<rect x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)"', page
        )
        assert len(rects) == page.count("<rect") >= 3
        for x, y, across, down in (map(float, each) for each in rects):
            assert 0 <= x < x + across <= wide
            assert 0 <= y < y + down <= high
        words = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', page)
        assert len(words) == page.count("<text") >= 6
        assert all(0 <= float(x) <= wide and 0 <= float(y) <= high for x, y in words)


def test_a_branch_of_a_tree_ends_at_its_answer() -> None:
    page = draw_tree(Split("m", 64, Leaf(0), Leaf(1)))

    (_, *leaves) = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', page)
    ends = re.findall(r'<path d="M120 25\.0C134 25\.0 134 [\d.]+ ([\d.]+) ([\d.]+)"', page)
    assert [(float(x), float(y) - 11) for x, y in ends] == [
        (float(x), float(y)) for x, y in leaves
    ]
    assert re.findall(r">([AB]|m ≤ 64)<", page) == ["m ≤ 64", "A", "B"]


def test_the_first_question_of_a_tree_is_in_view_at_the_top() -> None:
    deep = Split("n", 2, Leaf(0), Split("n", 3, Leaf(1), Split("n", 4, Leaf(0), Leaf(1))))

    page = draw_tree(Split("m", 64, Leaf(0), deep))
    wide = draw_tree(Split("waves_128x128_132", 12345, Leaf(0), deep))

    height = {words: float(y) for y, words in re.findall(r' y="([\d.]+)"[^>]*>([^<]+)<', page)}
    assert height["m ≤ 64"] == 29
    assert height["m ≤ 64"] < height["n ≤ 2"] < height["n ≤ 3"] < height["n ≤ 4"]
    widths = [
        set(map(int, re.findall(r'width="(\d+)"[^>]*question', each))) for each in (page, wide)
    ]
    assert widths == [{112}, {195}]  # the longest question fits


def test_a_regret_above_10_has_a_tick_near_it_and_1_kernel_is_not_plural(shipped: Shipped) -> None:
    kernel = PortfolioKernel(name="a", family="none", config=Config.of({}), source_hash="")
    selector = Selector(contraction=shipped[0].contraction, portfolio=(kernel,), tree=Leaf(0))
    curve = ((1, 0.1), (2, 0.0))
    losses = (("tree", (41.0,)),)
    selection = Selection(
        selector=selector, portfolio_curve=curve, sizes=("8x8x8",), losses=losses
    )

    ticks = re.findall(r'text-anchor="middle">([\d.]+)<', regret_strips(selection))
    assert ticks[-2:] == ["10", "20"]
    assert 'data-hints="1 kernel: 10 % lost\n2 kernels: 0 % lost"' in portfolio_curve(curve)


def test_a_run_of_failures_shows_their_kinds_and_messages(make_run: MakeRun) -> None:
    kinds = {1: Status.BUILD_ERROR, 2: Status.TIMEOUT, 4: Status.BUILD_ERROR}
    folder = make_run(status=kinds.__getitem__, message="line 3: no such type")
    result = report(folder, None)
    page = result.path.read_text()

    assert [name for name in Outline(page).ids if name in SECTIONS] == list(SECTIONS)
    assert "line 3: no such type" in page
    assert "No kernel was right on any size." in page
    assert "<polyline" not in page  # nothing was best
    assert result.next_command == f"mltune replay {folder} 1"


def test_a_run_that_measured_nothing_is_reported(make_run: MakeRun) -> None:
    page = page_of(make_run(tiles=()))

    assert "No trial was recorded." in page


def test_texts_of_a_run_cannot_inject(make_run: MakeRun) -> None:
    evil = "</pre></script><script>alert(1)</script><!--\u2028\x00\"'><img src=x onerror=alert(1)>"
    folder = make_run(
        status=lambda tile: Status.BUILD_ERROR if tile == 2 else Status.OK,
        message=evil,
        command=("mltune", evil),
        space_text=evil,
        space=evil,
        sampler=evil,
    )
    page = page_of(folder)
    outline = Outline(page)

    assert "alert(1)" in page
    assert outline.names.count("script") == 2
    assert "img" not in outline.names
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    assert "\x00" not in page
    assert "script-src 'sha256-" in page


def test_another_run_stands_beside_it_on_the_sizes_that_both_have(
    make_run: MakeRun, tmp_path: Path
) -> None:
    there = make_run(sizes=((64, 64, 64), (128, 32, 16)), tiles=(1, 2)).rename(tmp_path / "there")
    here = make_run(sizes=((64, 64, 64), (32, 32, 32)), tiles=(4,))
    page = report(here, None, other=there).path.read_text()

    assert "figure-against" in Outline(page).ids
    row = re.search(r'id="against".*?<tbody>(.*?)</tbody>', page, re.S)
    assert row is not None
    assert row[1].count("<tr>") == 1
    assert "<td>64x64x64</td>" in row[1]
    ratio = (1e-6 + 2 * 64**3 / 2e12) / (1e-6 + 2 * 64**3 / 4e12)
    assert f'<td class="n">{ratio:.3g}</td>' in row[1]


def test_runs_without_a_common_size_are_told_apart_in_one_line(
    make_run: MakeRun, tmp_path: Path
) -> None:
    there = make_run(sizes=((128, 32, 16),)).rename(tmp_path / "there")

    with pytest.raises(UsageError, match=r"--against .*there: no size of sgemm_nn was right"):
        report(make_run(), None, other=there)


def test_a_device_without_published_peaks_has_no_roofline(make_run: MakeRun) -> None:
    device = replace(read_info(SHIPPED).device, name="another", compute_capability=0)
    page = page_of(make_run(device=device))

    assert "The peaks of this device are not known." in page
    assert "figure-roofline" not in Outline(page).ids
