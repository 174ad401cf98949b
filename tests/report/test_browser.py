from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mltune.measurement import Measurement
from mltune.run.run_info import RunInfo
from tests.report.conftest import SHIPPED

FIGURES = (
    *("roofline", "progress", "importance", "speed-map", "kernel-map", "parameters"),
    *("calibration", "portfolio", "regret", "leaf-map"),
)
Shipped = tuple[RunInfo, list[Measurement]]

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs a browser: apt-get install chromium"
)

PROBE = """
addEventListener("load", () => {
  const search = document.querySelector("#measurements input");
  const rows = () => document.querySelectorAll("#measurements tbody tr").length;
  const seen = { rows: rows() };
  document.querySelectorAll("#measurements th button")[4].click();
  document.querySelectorAll("#measurements th button")[4].click();
  const fastest = document.querySelectorAll("#measurements tbody td")[4].textContent;
  const cells = [...document.querySelectorAll("#measurements tbody td")].slice(0, 9);
  search.value = cells.map((cell) => cell.textContent).join(" ").toUpperCase();
  search.dispatchEvent(new Event("input"));
  document.querySelector("#best button.kernel").click();
  const dialog = document.getElementById("detail");
  const dots = document.querySelector("#figure-progress svg");
  const box = dots.getBoundingClientRect(), scale = box.width / dots.viewBox.baseVal.width;
  const path = dots.querySelector("path[data-hints]").getAttribute("d");
  const first = path.match(/M([\\d.]+) ([\\d.]+)/);
  dots.dispatchEvent(new PointerEvent("pointermove", { bubbles: true,
    clientX: box.left + first[1] * scale, clientY: box.top + first[2] * scale }));
  const hint = document.querySelector(".bubble").textContent;
  const ticks = () => [...dots.querySelectorAll(".ticks text")].map((tick) => tick.textContent);
  const all = ticks(), drawn = () => dots.querySelector("path").getAttribute("d");
  const whole = drawn();
  const at = (type, x, y) => dots.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0,
    pointerType: "mouse", clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
  at("pointerdown", 0.5, 0.3);
  at("pointermove", 0.6, 0.5);
  at("pointermove", 0.7, 0.6);
  at("pointerup", 0.7, 0.6);
  const enlarged = { zoomed: dots.classList.contains("zoomed"), ticks: ticks() };
  const press = (key) => dots.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key }));
  press("0");
  const again = !dots.classList.contains("zoomed") && String(ticks()) === String(all)
    && drawn() === whole;
  press("ArrowRight");
  const walked = document.querySelector(".bubble").textContent;
  const strips = document.querySelector("#figure-regret svg");
  strips.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: "+" }));
  const map = document.querySelector("#figure-kernel-map svg");
  const middle = (shape) => {
    const { x, y, width, height } = shape.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const apart = () => [...map.querySelectorAll("text.letter")].map((letter) =>
    Math.hypot(...middle(letter).map((one, axis) =>
      one - middle(letter.previousElementSibling)[axis])));
  const apartBefore = Math.max(...apart());
  "+++".split("").forEach((key) =>
    map.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key })));
  const strayed = map.classList.contains("zoomed") ? Math.max(...apart()) - apartBefore : -1;
  const times = document.querySelector("#figure-calibration svg");
  times.dataset.axes = JSON.stringify(
    { ...JSON.parse(times.dataset.axes), x: [1e-6, 1, true, "seconds"] });
  times.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: "+" }));
  const words = [...times.querySelectorAll(".ticks text[text-anchor=middle]")];
  const crowded = words.slice(1).filter((tick, place) =>
    tick.getBoundingClientRect().left < words[place].getBoundingClientRect().right).length;
  const peaks = document.querySelector("#figure-roofline svg");
  peaks.dataset.axes = JSON.stringify(
    { ...JSON.parse(peaks.dataset.axes), x: [0, 40000, false, "number"] });
  peaks.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: "+" }));
  const last = [...peaks.querySelectorAll(".ticks text[text-anchor=middle]")].at(-1);
  const lastWords = last.textContent;
  const lastRoom = peaks.getBoundingClientRect().right - last.getBoundingClientRect().right;
  const choices = [...document.querySelectorAll(".by-k input")];
  const drawnAt = () => [...document.querySelectorAll(".at-k")].flatMap(
    (one, place) => getComputedStyle(one).display === "block" ? [place] : []);
  const chosenK = choices.findIndex((one) => one.checked), before = drawnAt();
  choices[0].click();
  const mapsShown = [String(before) === String(chosenK), String(drawnAt()) === "0"];
  const leaves = document.querySelector(".at-k svg");
  leaves.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: "ArrowRight" }));
  const leaf = document.querySelector(".bubble").textContent;
  const names = strips.querySelectorAll(":scope > text").length;
  document.body.dataset.probe = JSON.stringify({
    hint, strayed, crowded, words: words.length, lastWords, lastRoom, mapsShown,
    leaf, all, enlarged, again, walked, names,
    opened: dialog.open, parameters: dialog.querySelectorAll("dt").length,
    replay: dialog.querySelector(".replay").textContent,
    ...seen, fastest, found: rows(),
    figures: [...document.querySelectorAll("figure")].filter(
      (figure) => [...figure.querySelectorAll("svg")].some(
        (svg) => svg.getBoundingClientRect().width > 200)).map((figure) => figure.id),
    wider: document.documentElement.scrollWidth - innerWidth,
    requests: performance.getEntriesByType("resource").length,
  });
});
"""


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 500])
def test_a_browser_shows_every_figure_and_complains_about_nothing(
    shipped_page: Path, shipped: Shipped, tmp_path: Path, width: int
) -> None:
    # The policy allows only the page's own script, so the copy with the probe has no policy.
    page = re.sub(r'<meta http-equiv="[^>]*>', "", shipped_page.read_text())
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("</body>", f"<script>{PROBE}</script></body>"))

    said = browse(probed, tmp_path, width)
    probe = re.search(r'data-probe="([^"]*)"', said.stdout)

    assert probe is not None, said.stderr[-2000:]
    seen = json.loads(probe[1].replace("&quot;", '"'))
    # depends on how a kernel is chosen
    shown = set(seen["figures"]) - {"figure-formulas", "figure-tree"}
    assert sorted(shown) == sorted(f"figure-{name}" for name in FIGURES)
    _, measurements = shipped
    assert (seen["rows"], seen["found"], seen["requests"]) == (25, 1, 0)
    fastest = max(row.gflops or 0.0 for row in measurements)
    assert float(seen["fastest"]) == pytest.approx(fastest, rel=1e-4)
    assert seen["wider"] <= 0
    assert seen["opened"]
    assert seen["parameters"] > 5
    assert re.fullmatch(rf"mltune replay {re.escape(str(SHIPPED))} \d+", seen["replay"])
    assert re.fullmatch(r"trial \d+: .* GFLOP/s", seen["hint"])
    assert seen["enlarged"]["zoomed"]
    assert seen["enlarged"]["ticks"] != seen["all"]
    assert len(seen["enlarged"]["ticks"]) > 4
    assert seen["again"]
    assert re.fullmatch(r"trial \d+: .*", seen["walked"])
    assert seen["names"] > 2
    assert seen["words"] > 4
    assert seen["crowded"] == 0
    assert seen["lastWords"] == "30,000"  # at the right end, where there is less room
    assert seen["lastRoom"] >= 0
    assert abs(seen["strayed"]) < 0.5  # pixels, of the letters from their marks
    assert seen["mapsShown"] == [True, True]
    assert seen["leaf"]


@pytest.mark.long
def test_the_page_as_it_is_runs_its_script_without_complaint(
    shipped_page: Path, shipped: Shipped, tmp_path: Path
) -> None:
    said = browse(shipped_page, tmp_path, 1280)

    count = len(shipped[1])
    assert f"{count:,} of {count:,}" in said.stdout
    assert "CONSOLE" not in said.stderr


@pytest.mark.long
def test_the_page_of_a_running_search_is_kept_while_a_picture_is_enlarged(
    shipped_page: Path, tmp_path: Path
) -> None:
    probe = """addEventListener("load", () => document.querySelector("svg.plot").dispatchEvent(
      new KeyboardEvent("keydown", { bubbles: true, key: "+" })));"""
    page = re.sub(r'<meta http-equiv="[^>]*>', "", shipped_page.read_text())
    page = page.replace("<body", '<body data-refresh="1"')
    live = tmp_path / "live.html"
    live.write_text(page.replace("</body>", f"<script>{probe}</script></body>"))

    said = browse(live, tmp_path, 1280)  # a page that is loaded anew comes to no end

    assert 'class="plot zoomed"' in said.stdout


def browse(page: Path, folder: Path, width: int) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    return subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"),
            *("--virtual-time-budget=5000", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | {"HOME": str(folder)},
    )
