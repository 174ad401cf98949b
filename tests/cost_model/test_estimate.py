import numpy as np
import pytest

from mltune.cost_model.estimate import TERMS, Estimate
from mltune.cost_model.features import Encoder
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import Precision, gemm, gemm_problem
from mltune.space.config import Config


def test_rates_are_found_again_though_they_are_far_apart(device: DeviceInfo) -> None:
    rng = np.random.default_rng(0)
    encoder = Encoder.of([])
    config = Config.of({})
    problems = [
        gemm_problem(gemm(Precision.SINGLE), *(int(2 ** rng.uniform(2, 12)) for _ in range(3)))
        for _ in range(60)
    ]
    rows = np.concatenate(
        [encoder.encode_all([(problem, [config])], device) for problem in problems]
    )
    seconds = np.array([1e-12 * p.flops + 4e-11 * p.bytes + 5e-6 for p in problems])
    estimate = Estimate.fit(encoder.names(device), rows, seconds)

    assert np.allclose(
        [estimate.rates[TERMS.index(term)] for term in ("flops", "bytes")],
        [1e-12, 4e-11],
        rtol=1e-6,
    )
    assert np.allclose(estimate.log_seconds(encoder.names(device), rows), np.log(seconds))


def test_a_config_without_tiles_has_a_finite_estimate_whatever_the_rates(
    device: DeviceInfo,
) -> None:
    encoder = Encoder.of([])
    problem = gemm_problem(gemm(Precision.SINGLE), 8, 8, 8)
    rows = encoder.encode_all([(problem, [Config.of({})])], device)
    rates = tuple(float(term == "work-groups") for term in TERMS)

    assert np.isfinite(Estimate(rates).log_seconds(encoder.names(device), rows)).all()


@pytest.mark.parametrize("rates", [(), (0.0,) * 6, (-1.0, *(1.0,) * 5), (float("nan"),) * 6])
def test_rates_that_give_no_time_are_refused(rates: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="rates must be positive or 0"):
        Estimate(rates)
