"""The kernels of a pack beside those of a search."""

from __future__ import annotations

from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, PortfolioKernel, Selector, Split
from mltune.space.config import Config
from mltune.workflow.known_pack import usable
from tests.devices import CPU
from tests.made_up import build_measurement
from tests.selectors import entry_of

SGEMM = gemm(Precision.SINGLE)
SHORT = Config.of(
    {
        "work_group_0": 8, "work_group_1": 8, "thread_tile_0": 4, "thread_tile_1": 4,
        "depth_u": 8, "vector_width": 1, "vector_access": "cast", "prefetch_global_read": 0,
        "loop_unroll": 1, "multiply_add": "expr", "work_group_mapping": 1, "local_pad": 0,
    }
)  # fmt: skip
WHOLE = Config.of({**SHORT, "global_split_u": 1})


def written(config: Config) -> PortfolioKernel:
    kernel = FAMILIES["tiled"].generate(SGEMM, config)
    return entry_of(kernel)


def test_a_kernel_has_the_name_that_the_search_gave_it() -> None:
    """The config of the search states a parameter's default, so that the name has it, too."""
    short, whole = written(SHORT), written(WHOLE)
    assert short.name != whole.name
    pack = Selector(contraction=SGEMM, portfolio=(short,), tree=Leaf(0))
    row = build_measurement(0, 64, 1e-3, config=WHOLE, kernel=whole.name)

    alone, beside = usable(pack, CPU), usable(pack, CPU, [row])

    assert alone is not None
    assert beside is not None
    assert alone.portfolio == (short,)
    assert beside.portfolio == (whole,)


def test_a_kernel_that_a_pack_has_twice_is_one_kernel_beside_the_search() -> None:
    """A pack that was pooled from runs whose spaces state different parameters has it twice."""
    short, whole = written(SHORT), written(WHOLE)
    pack = Selector(
        contraction=SGEMM,
        portfolio=(short, whole),
        tree=Split("m", 10, Leaf(0), Leaf(1)),
        exact=(((8, 8, 8, 1), 1),),
    )
    row = build_measurement(0, 64, 1e-3, config=WHOLE, kernel=whole.name)

    found = usable(pack, CPU, [row])

    assert found is not None
    assert found.portfolio == (whole,)
    assert found.exact == (((8, 8, 8, 1), 0),)
    assert found.choose(20, 20, 20).kernel == whole
