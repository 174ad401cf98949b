"""Requirements for every export language."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.export import WITHOUT_HALF, WRITERS
from mltune.export.writer import Writer
from mltune.kernel import Kernel
from mltune.problem import Contraction, Precision, gemm, parse_problem_type
from mltune.selector import Leaf, Selector, Split
from mltune.space.config import Config
from tests.selectors import entry_of

CONTRACTION = gemm(Precision.SINGLE)
KERNELS = tuple(
    Kernel(
        name=f"kernel_{number}",
        family="none",
        contraction=CONTRACTION,
        config=Config.of({"number": number}),
        source=f"__kernel void kernel_{number}(void) {{}}\n",
        build_options=("-cl-std=CL1.2", "-DX=1")[: number + 1],
        work_group=(8, 4, 1),
        macro_tile=(16, 8),
    )
    for number in range(2)
)
SELECTOR = Selector(
    contraction=CONTRACTION,
    portfolio=tuple(map(entry_of, KERNELS)),
    tree=Split("mnk", 2**40, Leaf(0), Leaf(1)),
    exact=(((1, 2, 3, 1), 1),),
    conditions=(("device", "a device that was measured"),),
)


@pytest.fixture(params=list(WRITERS))
def writer(request: pytest.FixtureRequest) -> Writer:
    return WRITERS[request.param]


def test_is_listed_under_its_name(writer: Writer) -> None:
    assert WRITERS[writer.name] is writer


def test_returns_the_files_that_it_wrote(writer: Writer, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"

    files = writer.write(SELECTOR, KERNELS, out)

    assert sorted(files) == sorted(path for path in out.rglob("*") if path.is_file())


def test_writes_the_same_bytes_every_time(writer: Writer, tmp_path: Path) -> None:
    first = writer.write(SELECTOR, KERNELS, tmp_path)
    texts = [file.read_bytes() for file in first]

    assert writer.write(SELECTOR, KERNELS, tmp_path) == first
    assert [file.read_bytes() for file in first] == texts


def test_leaves_no_placeholder_and_no_space_at_line_ends(writer: Writer, tmp_path: Path) -> None:
    for file in writer.write(SELECTOR, KERNELS, tmp_path):
        text = file.read_text()
        assert "@library@" not in text
        assert not [line for line in text.splitlines() if line != line.rstrip()], file.name
        assert not text or (text.endswith("\n") and not text.endswith("\n\n")), file.name


def test_carries_sources_and_conditions(writer: Writer, tmp_path: Path) -> None:
    text = "".join(file.read_text() for file in writer.write(SELECTOR, KERNELS, tmp_path))

    for kernel in KERNELS:
        assert kernel.source.strip() in text
    assert "device a device that was measured" in text


@pytest.mark.parametrize("kernels", [(), KERNELS[:1], KERNELS[::-1]])
def test_kernels_must_be_the_portfolio(
    writer: Writer, kernels: tuple[Kernel, ...], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"^export: the kernels must be the portfolio's"):
        writer.write(SELECTOR, kernels, tmp_path)


def test_kernels_must_compute_the_problem_type(writer: Writer, tmp_path: Path) -> None:
    other = replace(SELECTOR, contraction=parse_problem_type("sgemm_tn"))

    with pytest.raises(UsageError, match=r"^export: kernel kernel_0 is not for sgemm_tn$"):
        writer.write(other, KERNELS, tmp_path)


def test_refuses_what_is_no_gemm(writer: Writer, tmp_path: Path) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "ik,jkl->ijl")

    with pytest.raises(UnsupportedError, match=r"^export: C.* is no GEMM$"):
        writer.write(replace(SELECTOR, contraction=contraction), KERNELS, tmp_path)


def test_half_precision_is_written_or_the_language_is_known_to_lack_it(
    writer: Writer, tmp_path: Path
) -> None:
    half = gemm(Precision.HALF)
    kernels = [replace(kernel, contraction=half) for kernel in KERNELS]
    lacks = pytest.raises(UnsupportedError, match="half") if writer.name in WITHOUT_HALF else None

    with lacks or nullcontext():
        writer.write(replace(SELECTOR, contraction=half), kernels, tmp_path)


def test_a_folder_that_cannot_be_made_is_a_usage_error(writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(UsageError, match="file: is a file, not a folder"):
        writer.write(SELECTOR, KERNELS, tmp_path / "file")
