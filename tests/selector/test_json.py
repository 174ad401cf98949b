import copy
import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.problem import gemm
from mltune.problem.precision import Precision
from mltune.selector import (
    FEATURES,
    Leaf,
    LeafLoss,
    PortfolioKernel,
    Regret,
    Selector,
    Split,
    TimeFormula,
    Tree,
    Waves,
)
from mltune.selector.checked import MAX_BYTES
from mltune.selector.json import read_selector, write_selector
from mltune.space.config import Config

GOLDEN = Path(__file__).parent.parent / "golden" / "selector" / "small.json"


def kernel(number: int) -> PortfolioKernel:
    config = Config.of({"work_group_0": 8 * number, "multiply_add": "mad"})
    return PortfolioKernel(
        name=f"Cij_Aik_Bkj_SB_{number}", family="tiled", config=config, source_hash="0" * 16
    )


SMALL = Selector(
    contraction=gemm(Precision.SINGLE),
    portfolio=(kernel(0), kernel(1), kernel(2)),
    tree=Split("mn", 4096, Split("k_per_m", 3, Leaf(1), Leaf(0)), Leaf(2)),
    formulas=tuple(
        TimeFormula(
            rows=side,
            columns=2 * side,
            depth=16,
            launch=5 * 10**9,
            tile=7 * side,
            step=10**7,
            tile_step=side,
            waves=(Waves(132, 10**6 * side), Waves(264, 3)),
            multiples=(4, 1, 4),
            odd_step=side,
            odd_waves=(Waves(132, 5),),
            wave=3 * side,
            units=132,
            result_multiples=(4, 1),
            odd_tile=side,
            load_a=side,
            load_b=1,
            narrowed=(side, 0, 2 * side),
        )
        for side in (16, 32, 64)
    ),
    exact=(((64, 64, 64, 1), 1), ((1000, 1000, 1000, 1), 2)),
    regret=Regret(sizes=8, geomean=0.97, p10=0.9, worst=0.8125, worst_size="1000x1x8"),
    conditions=(("device", "a device"), ("statistic", "median of 7")),
)


def test_the_golden_file_is_what_is_written_and_read(tmp_path: Path) -> None:
    write_selector(SMALL, tmp_path / "new" / "small.json")

    assert (tmp_path / "new" / "small.json").read_text() == GOLDEN.read_text()
    assert read_selector(GOLDEN) == SMALL
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["small.json"]


def test_a_file_of_the_first_version_has_no_formulas(tmp_path: Path) -> None:
    data = json.loads(GOLDEN.read_text())
    del data["formulas"]
    (tmp_path / "old.json").write_text(json.dumps(data | {"schema_version": 1}))

    assert read_selector(tmp_path / "old.json") == replace(SMALL, formulas=())


def test_a_teacher_is_kept(tmp_path: Path) -> None:
    taught = replace(SMALL, formulas=(), teacher=SMALL.formulas)
    write_selector(taught, tmp_path / "taught.json")

    assert read_selector(tmp_path / "taught.json") == taught


def test_a_formula_as_first_written_is_the_same_for_all_sizes(tmp_path: Path) -> None:
    data = json.loads(GOLDEN.read_text())
    for formula in data["formulas"]:
        for name in ("multiples", "odd_step", "odd_waves", "load_a", "load_b", "narrowed"):
            del formula[name]
    (tmp_path / "old.json").write_text(json.dumps(data))

    for read, written in zip(
        read_selector(tmp_path / "old.json").formulas, SMALL.formulas, strict=True
    ):
        first = replace(
            written,
            multiples=(1, 1, 1),
            odd_step=0,
            odd_waves=(),
            load_a=0,
            load_b=0,
            narrowed=(0, 0, 0),
        )
        assert read == first


def test_random_trees_come_back_as_they_were(tmp_path: Path) -> None:
    rng = random.Random(1)

    def grow(level: int) -> Tree:
        if level == 0 or rng.random() < 0.2:
            losses = (
                None,
                LeafLoss(sizes=0),
                LeafLoss(sizes=2, geomean=0.9, worst=0.5, expected=1.0),
            )
            return Leaf(rng.randrange(3), rng.choice(losses))
        return Split(
            rng.choice((*FEATURES, "rest_128x64x16", "waves_128x64_132")),
            rng.randrange(2**63 - 1),
            grow(level - 1),
            grow(level - 1),
        )

    for _ in range(30):
        selector = Selector(
            contraction=gemm(Precision.DOUBLE, "t", "n"), portfolio=SMALL.portfolio, tree=grow(9)
        )
        write_selector(selector, tmp_path / "selector.json")
        assert read_selector(tmp_path / "selector.json") == selector


def test_a_subtree_that_two_splits_share_is_written_for_each(tmp_path: Path) -> None:
    shared = Split("m", 1, Leaf(0), Leaf(1))
    selector = Selector(
        contraction=SMALL.contraction,
        portfolio=SMALL.portfolio,
        tree=Split("n", 1, shared, shared),
    )
    write_selector(selector, tmp_path / "selector.json")

    assert read_selector(tmp_path / "selector.json") == selector


def changed(*path: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        if value is ...:
            del data[path[-1]]
        else:
            data[path[-1]] = value

    return change


def test_a_lost_formula_is_seen_unless_its_kernel_is_an_exact_size_s(tmp_path: Path) -> None:
    data = json.loads(GOLDEN.read_text())
    data["formulas"].pop()
    path = tmp_path / "selector.json"
    path.write_text(json.dumps(data))
    kept = read_selector(path)
    data["exact"].pop()
    path.write_text(json.dumps(data))

    assert (len(kept.formulas), len(kept.portfolio)) == (2, 3)
    with pytest.raises(UsageError, match="selector: 2 formulas for 3 kernels"):
        read_selector(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("format", value="other"), "not a selector that `mltune distil` wrote"),
        (changed("format", value=...), "not a selector that `mltune distil` wrote"),
        (changed("schema_version", value=3), "schema_version: expected 2, got 3"),
        (changed("schema_version", value=True), "schema_version: expected 2, got True"),
        (changed("tree", value=...), "field 'tree' is missing"),
        (changed("spare", value=1), "unknown field 'spare'"),
        (changed("contraction", value="nonsense"), "'nonsense' is no name such as"),
        (changed("contraction", value=3), "contraction: expected a line of text, got 3"),
        (changed("portfolio", value=[]), "portfolio: expected at least one kernel, got []"),
        (changed("portfolio", value={}), "portfolio: expected a list, got {}"),
        (changed("portfolio", 1, "name", value="a b"), "letters, digits and _, got 'a b'"),
        (changed("portfolio", 1, "name", value="a\n"), "portfolio.1.name: expected a line"),
        (changed("portfolio", 0, "config", value=[]), "portfolio.0.config: expected a mapping"),
        (changed("portfolio", 0, "config", "x", value=1.5), "config.x: expected a line of text"),
        (changed("portfolio", 0, "config", "x", value=10**40), "config.x: expected a whole numb"),
        (changed("tree", value=[]), "tree: expected at least one node"),
        (changed("tree", 0, "low", value=0), "tree.0.low: expected the number of a later node"),
        (changed("tree", 1, "low", value=0), "tree.1.low: expected the number of a later node"),
        (changed("tree", 0, "low", value=99), "tree.0.low: expected the number of a later node"),
        (changed("tree", 0, "low", value=True), "tree.0.low: expected the number"),
        (changed("tree", 0, "low", value=[1]), "tree.0.low: expected the number"),
        (changed("tree", 0, "high", value=2), "tree.0.high: expected the number of a later nod"),
        (changed("tree", 1, value={"kernel": 0}), "tree.2: no other node leads here"),
        (changed("tree", 1, "feature", value="x"), "tree.1.feature: expected one of m, n, k"),
        (changed("tree", 1, "threshold", value=1.0), "tree.1.threshold: expected a whole number"),
        (changed("tree", 1, "threshold", value=2**63), "tree.1.threshold: expected a whole"),
        (changed("tree", 2, "kernel", value=3), "tree.2.kernel: expected a whole number from 0"),
        (changed("tree", 2, "loss", value={"sizes": 1}), "field 'geomean' is missing"),
        (changed("formulas", value=...), "field 'formulas' is missing"),
        (changed("formulas", 0, "rows", value=0), "time formula: rows must be a whole number"),
        (changed("formulas", 0, "step", value=0.5), "formulas.0.step: expected a whole number"),
        (changed("formulas", 0, "step", value=2**60), "time formula: step must be a whole"),
        (changed("formulas", 0, "waves", 0, "slots", value=0), "time formula: slots must be"),
        (changed("formulas", 0, "waves", value=3), "formulas.0.waves: expected a list, got 3"),
        (changed("exact", 0, value=[1, 1, 1, 0]), "exact.0: expected a list of 5"),
        (changed("exact", 0, 0, value=0), "exact.0.0: expected a whole number from 1"),
        (changed("exact", 0, 4, value=3), "exact.0.4: expected a whole number from 0 to 2"),
        (changed("regret", "worst", value=1.5), "regret.worst: expected a number from 0 to 1"),
        (changed("regret", "worst", value="1"), "regret.worst: expected a number from 0 to 1"),
        (changed("regret", "sizes", value=0), "regret.sizes: expected a whole number from 1"),
        (changed("conditions", "device", value=None), "conditions.device: expected a line"),
    ],
)
def test_a_wrong_field_is_named_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    data = copy.deepcopy(json.loads(GOLDEN.read_text()))
    change(data)
    path = tmp_path / "selector.json"
    path.write_text(json.dumps(data))

    with pytest.raises(UsageError) as caught:
        read_selector(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON: Expecting value"),
        (b"\xff\xfe\x00", "not JSON: "),
        (b"SQLite format 3\x00", "not JSON: "),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 200_000, "nested too deeply"),
        (b"[]", "expected a mapping, got []"),
        (b"1" * 5000, "not JSON: "),
        (b'{"format": NaN}', "NaN is no number"),
        (b'{"format": 1, "format": 2}', "field 'format' stands twice"),
        (b" " * (MAX_BYTES + 1), "larger than 64 MiB"),
    ],
    ids=range(10),
)
def test_a_foreign_file_is_refused_in_one_line(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "selector.json"
    path.write_bytes(text)

    with pytest.raises(UsageError) as caught:
        read_selector(path)

    assert message in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))
    assert "\n" not in str(caught.value)


def test_a_tree_deeper_than_the_limit_is_refused(tmp_path: Path) -> None:
    data = json.loads(GOLDEN.read_text())
    length = 2 * sys.getrecursionlimit()
    data["tree"] = []
    for number in range(length):
        data["tree"].append(
            {"feature": "m", "threshold": 1, "low": 2 * number + 1, "high": 2 * number + 2}
        )
        data["tree"].append({"kernel": 0})
    data["tree"].append({"kernel": 0})
    path = tmp_path / "selector.json"
    path.write_text(json.dumps(data))

    with pytest.raises(UsageError, match=f"the tree asks {length} questions on a path"):
        read_selector(path)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match=r"missing\.json: cannot read \(No such file"):
        read_selector(tmp_path / "missing.json")
    with pytest.raises(UsageError, match=r"cannot read \(Is a directory"):
        read_selector(tmp_path)
    with pytest.raises(UsageError, match=": is a file, not a folder"):
        write_selector(SMALL, tmp_path / "file" / "selector.json")
