"""`mltune distil`: from measurements to a portfolio, a rule, and their loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.distil import Distilled, LeftOut, RegretRow, TimeTable, distil, fit_best
from mltune.distil.best import beats_single
from mltune.distil.known_rule import KNOWN, LEAST_TIMED, kept
from mltune.distil.methods import AUTO, SINGLE
from mltune.distil.rules import PORTFOLIO
from mltune.distil.suggest import suggested
from mltune.distil.table import Size
from mltune.distil.teacher import teach
from mltune.distil.traffic import memory_of
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.files import make_folder, refuse_unwritable, write_atomically
from mltune.kernel import KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.measurement import Phase
from mltune.problem import Contraction
from mltune.run.run import INFO_NAME
from mltune.selector import MAX_KERNELS, Selector, depth, ends
from mltune.selector.json import read_selector, write_selector
from mltune.selector.pack import SELECTOR_NAME
from mltune.selector.speeds import write_speeds
from mltune.shell import command
from mltune.space import Config
from mltune.tuning.progress import Show, Steps
from mltune.workflow.advice import advice, timing_more
from mltune.workflow.card import CARD_NAME, card, refuse_foreign_card, warn_of_others
from mltune.workflow.expected_times import rule_table
from mltune.workflow.export import next_command
from mltune.workflow.known_pack import judging_table, usable
from mltune.workflow.memory import remembered
from mltune.workflow.pack_speeds import stated_speeds
from mltune.workflow.recorded import Recorded, calls, read_runs
from mltune.workflow.untimed import untimed


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOptions:
    """The options of `mltune distil`.

    Attributes:
        known: a selector of the same device and problem type, which stays unless the new rule is
            better; `mltune tune` gives the pack of the device.
    """

    runs: tuple[Path, ...]
    known: Path | None = None
    output: Path | None = None
    method: str = "auto"
    tolerance: float = 0.02
    max_kernels: int = MAX_KERNELS
    max_depth: int = 8
    held_out: float = 0.25
    seed: int = 0
    suggest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilResult:
    """The selector, its place, and its scores on held-out sizes.

    Attributes:
        method: the `--method`.
        rule: the rule that ships.
        left_out: sizes of the runs that the selector's map of exact sizes lacks.
        suggested: sizes whose measurement would help most.
        suggestion: the command that measures them, or the sizes, if the first run takes none.
        notes: problems of the selector, with advice; often none.
        kept: a line if the known selector stays; else empty.
    """

    path: Path
    method: str
    rule: str
    selector: Selector
    rows: tuple[RegretRow, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    suggested: tuple[Size, ...] = ()
    suggestion: str = ""
    kept: str = ""

    @property
    def seen_sizes(self) -> tuple[tuple[int, ...], ...]:
        """All sizes that kernels were timed on."""
        return (
            *(size for size, _ in self.selector.exact),
            *(tuple(each.size) for each in self.left_out),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """The kernels in the portfolio, and leaves and depth of the tree."""
        tree = self.selector.tree
        return len(self.selector.portfolio), sum(1 for _ in ends(tree)), depth(tree)

    @property
    def next_command(self) -> str:
        """The command to type next: an export, if a language supports the problem type."""
        return next_command(self.selector, self.path)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        kernels, leaf_count, levels = self.shape
        return {
            "selector": str(self.path),
            "method": self.method,
            "rule": self.rule,
            "kernels": [kernel.name for kernel in self.selector.portfolio],
            "leaves": leaf_count,
            "depth": levels,
            "regret": [
                {
                    "rule": row.rule,
                    "sizes": row.regret.sizes,
                    "geomean": row.regret.geomean,
                    "p10": row.regret.p10,
                    "worst": row.regret.worst,
                    "worst_size": row.regret.worst_size,
                    "within_5_percent": row.within_5_percent,
                }
                for row in self.rows
            ],
            "kernel_count": kernels,
            "exact_sizes": len(self.selector.exact),
            "left_out": [{"size": one.size.label, "reason": one.reason} for one in self.left_out],
            "suggested": [size.label for size in self.suggested],
            "notes": list(self.notes),
            **({"kept": self.kept} if self.kept else {}),
        }


def _limited(recorded: Recorded) -> frozenset[Config]:
    """Return the configs whose kernels support multiples only, as a selector serves every size.

    Raises:
        NoCorrectConfigError: when all are.
    """
    rows = recorded.measurements
    # If leaders were timed side by side, only they can ship.
    leaders = {m.config: m.family for m in rows if m.phase is Phase.FINAL and m.median is not None}
    limited = _taking_multiples(leaders, recorded.contraction)
    if len(limited) < len(leaders):
        return limited
    families = {m.config: m.family for m in rows}
    limited = _taking_multiples(families, recorded.contraction)
    if len(limited) == len(families):
        raise NoCorrectConfigError(
            "distil: all kernels of the runs take multiples only, a selector answers for any size"
        )
    return limited


def _taking_multiples(
    families: Mapping[Config, str], contraction: Contraction
) -> frozenset[Config]:
    return frozenset(
        config
        for config, family in families.items()
        if family in FAMILIES and _has_limits(FAMILIES[family], contraction, config)
    )


def _has_limits(family: KernelFamily, contraction: Contraction, config: Config) -> bool:
    try:
        return not family.generate(contraction, config).limits.takes_every_problem
    except UsageError:  # a config that this version cannot generate
        return False


def refuse_run(output: Path) -> None:
    """Refuse a run's folder as the output.

    Raises:
        UsageError: when it is one.
    """
    if (output / INFO_NAME).exists():
        raise UsageError(
            f"{output}: is a run folder, not one for a selector; -o names another folder, "
            "or a .json file"
        )


def refuse_no_gemm(contraction: Contraction, run: Path) -> None:
    """Refuse a run of another contraction.

    Raises:
        UsageError: when it is one.
    """
    if not contraction.is_gemm:
        raise UsageError(
            f"distil: {run} is of the contraction {contraction.precision.letter}:"
            f"{contraction.einsum()}, and a selector chooses by M, N and K of a GEMM; "
            f"{command('mltune', 'source', run)} prints its best kernel"
        )


def distil_runs(options: DistilOptions, show: Show) -> DistilResult:
    """Distil the measurements of runs and write the selector.

    Raises:
        UsageError: when a run cannot be read or is of no GEMM, a setting is out of range, or the
            output is a run or has a README.md that is no card.
        NoCorrectConfigError: when no kernel of the runs was right.
        MltuneError: when the selector cannot be written.
    """
    if options.output is not None:
        refuse_run(options.output)
        if options.output.suffix != ".json":
            refuse_foreign_card(options.output)
    recorded = read_runs(options.runs, show)
    refuse_no_gemm(recorded.contraction, options.runs[0])
    limited = _limited(recorded)
    rows = [row for row in recorded.measurements if row.config not in limited]
    counts = calls(recorded.infos)
    Steps("predict times", show)(0, 1)  # this may take longer than to read the runs
    table = rule_table(rows, recorded.infos, recorded.timed).called(counts)
    every = TimeTable.from_measurements(rows, sparse=True).called(counts)
    if options.output is None:
        warn_of_others(recorded.model_folder, options.runs)
    output = options.output or recorded.model_folder
    path = output if output.suffix == ".json" else output / SELECTOR_NAME
    make_folder(path.parent)  # the next steps may take minutes
    refuse_unwritable(path)
    distilled = distil(
        table,
        recorded.contraction,
        every=every,
        is_joined=len(recorded.infos) > 1,
        method=options.method,
        tolerance=options.tolerance,
        max_kernels=options.max_kernels,
        max_depth=options.max_depth,
        held_out=options.held_out,
        seed=options.seed,
        compute_units=recorded.device.compute_units,
        memory=memory_of(recorded.device, recorded.contraction),
        conditions=recorded.conditions,
        on_step=Steps("fit", show),
        fit=remembered(fit_best, "on_step"),
    )
    fitted = distilled.rule
    if options.known is not None:
        distilled = _with_known(options.known, distilled, recorded, table, every)
    write_selector(distilled.selector, path)
    if path != output:
        speeds = stated_speeds(distilled.selector, every)
        write_speeds(speeds, path.parent)
        text = card(distilled.selector, distilled.rows, output, options.runs, speeds)
        write_atomically(output / CARD_NAME, text.encode())
    asked = [problem for info in recorded.infos for problem in info.cross_problems]
    suggested_sizes = _suggested(table, distilled, options)
    labels = ",".join(size.label for size in suggested_sizes)
    without_time = untimed(asked, recorded.measurements, limited, set(every.sizes))
    return DistilResult(
        path=path,
        method=options.method,
        rule=distilled.rule,
        selector=distilled.selector,
        rows=distilled.rows,
        left_out=tuple(sorted((*distilled.left_out, *without_time), key=lambda one: one.size)),
        notes=(
            *_against_single(distilled, options),
            *_advice(distilled, options, recorded, every),
        ),
        suggested=suggested_sizes,
        suggestion=timing_more(options.runs[0], recorded.infos[0], labels) or labels,
        kept=_kept(distilled, fitted, options),
    )


def _with_known(
    path: Path,
    distilled: Distilled,
    recorded: Recorded,
    table: TimeTable,
    every: TimeTable,
) -> Distilled:
    """Return the known selector, with the map of the runs, unless the new rule is better."""
    rows, device = recorded.measurements, recorded.device
    known = usable(read_selector(path), device, rows)
    if known is None:
        return distilled
    judged = judging_table(known, rows, device)
    return kept(distilled, known, table, every, judged)


def _kept(distilled: Distilled, fitted: str, options: DistilOptions) -> str:
    """Return a line that says why a known selector stays; empty if it does not."""
    if distilled.rule != KNOWN or options.known is None:
        return ""
    rows = {row.rule: row.regret for row in distilled.rows}
    name = "/".join(options.known.absolute().parts[-3:-1])
    line = f"the pack {name} stays, with the map of the sizes that were timed"
    if fitted not in rows or KNOWN not in rows:
        return f"{line}: there are too few to judge it"
    known, new = rows[KNOWN], rows[fitted]
    if known.sizes < LEAST_TIMED * new.sizes:
        return f"{line}: its kernels were tried for {known.sizes} of {new.sizes} of these"
    return (
        f"{line}: its rule has {known.geomean:.3f} of the best known speed there, the new one "
        f"{new.geomean:.3f} on held-out sizes"
    )


def _suggested(table: TimeTable, distilled: Distilled, options: DistilOptions) -> tuple[Size, ...]:
    """Return the sizes of `--suggest`."""
    if not options.suggest:
        return ()
    teacher = teach(table, distilled.settings)
    return suggested(teacher, table, options.suggest, options.seed)


def _against_single(distilled: Distilled, options: DistilOptions) -> tuple[str, ...]:
    """Return a line if a single kernel for all sizes is as good as a rule."""
    rows = {row.rule: row for row in distilled.rows}
    if not rows or distilled.rule == KNOWN or beats_single(rows, distilled.rule):
        return ()
    if options.method == AUTO:
        return (
            "a single kernel answers for all other sizes: neither formulas nor a tree are better "
            "in the mean and no worse at the worst size",
        )
    ours, single = rows[distilled.rule].regret, rows[SINGLE].regret
    return (
        f"{distilled.rule} ships as asked, but a single kernel does as well or better on sizes "
        f"that were held out: {single.geomean:.3f} and {single.worst:.3f} at worst, not "
        f"{ours.geomean:.3f} and {ours.worst:.3f} (--method auto)",
    )


def _advice(
    distilled: Distilled, options: DistilOptions, recorded: Recorded, every: TimeTable
) -> tuple[str, ...]:
    rows = {row.rule: row for row in distilled.rows}
    is_full = len(distilled.selector.portfolio) >= options.max_kernels < len(every.kernels)
    return advice(
        rows.get(distilled.rule),
        rows.get(PORTFOLIO),
        dict(zip(options.runs, recorded.infos, strict=True)),
        more_kernels=2 * options.max_kernels if is_full else 0,
    )
