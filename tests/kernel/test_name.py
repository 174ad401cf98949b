import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.kernel.name import Blocking, blocking_of, kernel_name, parse_kernel_name
from mltune.problem import Precision, gemm
from mltune.space import Config

CONFIG = Config.of(
    {
        "work_group_0": 16,
        "work_group_1": 8,
        "thread_tile_0": 4,
        "thread_tile_1": 6,
        "depth_u": 32,
        "vector_width": 4,
        "prefetch_global_read": 1,
        "local_pad": 0,
        "loop_unroll": 8,
        "work_group_mapping": 4,
        "multiply_add": "fma",
        "vector_access": "cast",
    }
)


def test_a_name_says_problem_tile_and_parameters_in_tensiles_words() -> None:
    name = kernel_name(gemm(Precision.SINGLE, "n", "t"), CONFIG)

    assert name == ("Cij_Aik_Bjk_SB_MT64x48x32_LP0_LU8_MAfma_PGR1_TT4x6_VAcast_VW4_WG16x8x1_WGM4")


def test_a_row_major_problem_has_the_name_of_its_column_major_twin() -> None:
    row = gemm(Precision.SINGLE, "n", "t", "row")
    column = gemm(Precision.SINGLE, "t", "n", "column")

    assert kernel_name(row, CONFIG) == kernel_name(column, CONFIG)


def _with(**changes: int | str) -> Config:
    return Config.of({**CONFIG, **changes})


@given(
    trans=st.tuples(st.sampled_from("nt"), st.sampled_from("nt")),
    precision=st.sampled_from([Precision.SINGLE, Precision.DOUBLE]),
    batched=st.booleans(),
    numbers=st.fixed_dictionaries(
        {
            name: st.integers(1, 512)
            for name, value in CONFIG.items()
            if isinstance(value, int) and name != "local_pad"
        }
    ),
    word=st.sampled_from(["expr", "fma", "mad"]),
)
def test_names_are_read_back(
    trans: tuple[str, str],
    precision: Precision,
    batched: bool,
    numbers: dict[str, int],
    word: str,
) -> None:
    contraction = gemm(precision, *trans, batched=batched)
    config = _with(**numbers, multiply_add=word)

    assert parse_kernel_name(kernel_name(contraction, config)) == (contraction, config)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "lacks _MT"),
        ("Cij_Aik_Bkj_SB", "lacks _MT"),
        ("Cij_Aik_Bkj_SB_MT8x8x8_TT2x2_WG4x4x1_XX3", "cannot read 'XX3'"),
        ("Cij_Aik_Bkj_SB_MT9x8x8_TT2x2_WG4x4x1", "not canonical"),
        ("Cij_Aik_Bkj_SB_MT8x8x8_WG4x4x1", "not canonical"),
        ("nonsense_MT8x8x8_TT2x2_WG4x4x1", "is no name such as"),
    ],
)
def test_what_is_no_name_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_kernel_name(name)


def test_a_parameter_without_abbreviation_is_refused() -> None:
    with pytest.raises(UsageError, match="'no_such' has no abbreviation"):
        kernel_name(gemm(Precision.SINGLE), _with(no_such=32))


@pytest.mark.parametrize(
    ("name", "blocking"),
    [
        (
            "Cij_Aik_Bjk_SB_MT128x64x32_GSU1_LB6_PST128_SPIhalf_WGM8_WPG1x2_WPT128x32",
            Blocking((128, 64), 32, packs=True, strip=8),
        ),
        ("Cij_Aik_Bkj_HB_MT384x64x64_DR0_GSU8_LB4_PK0_WPG2x1", Blocking((384, 64), 64, split=8)),
        ("Cij_Aik_Bjk_SB_MT64x64x32_LB3_MIK0_WT64x32_WV1x2", Blocking((64, 64), 32)),
        ("mine", None),
    ],
)
def test_the_name_tells_how_a_kernel_divides_its_work(
    name: str, blocking: Blocking | None
) -> None:
    assert blocking_of(name) == blocking
