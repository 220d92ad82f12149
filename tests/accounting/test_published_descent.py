"""The printed noise of gradient methods: its values, and what the tight accountant says of them."""

from __future__ import annotations

import pytest
from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import published_descent, zcdp
from discreet.accounting.events import repeat
from discreet.privacy import Budget, PrivacyError


@pytest.mark.parametrize(("promised", "true"), [(0.1, 0.0319), (0.5, 0.179), (1, 0.376), (4, 1.67)])
@pytest.mark.parametrize("steps", [1, 100])
def test_eight_log_is_loose_whatever_the_steps(promised: float, true: float, steps: int) -> None:
    """ALGORITHMS 5.5: 8 Delta^2 T log(1/delta) / epsilon^2 for full gradients."""
    noise = published_descent.descent_noise(Budget(promised, 1e-6), steps)
    spent = accounting.epsilon(repeat(dp_event.GaussianDpEvent(noise), steps), 1e-6)
    assert spent == pytest.approx(true, rel=4e-3)


@pytest.mark.parametrize(("rate", "steps", "true"), [(0.01, 100, 17.9), (0.1, 10, 2.5), (1.0, 1, 1.148)])
def test_theorem_3_1_with_constant_one_is_false(rate: float, steps: int, true: float) -> None:
    """The errata's table: ``for any m, T`` fails for small q T, and a constant of 1 even for full gradients."""
    noise = published_descent.sgd_noise(Budget(1, 1e-6), steps, rate, "3.1")
    one = dp_event.GaussianDpEvent(noise)
    event = repeat(one if rate == 1 else dp_event.PoissonSampledDpEvent(rate, one), steps)
    assert accounting.epsilon(event, 1e-6) == pytest.approx(true, rel=0.02)


def test_the_loose_conversion_is_below_the_tight_one() -> None:
    for promised in (0.1, 1.0, 4.0):
        rho = published_descent.zcdp_share(Budget(promised, 1e-6))
        assert rho < zcdp.rho_for(promised, 1e-6)
        assert rho + 2 * (rho * 13.815510557964274) ** 0.5 == pytest.approx(promised)


def test_refusals() -> None:
    with pytest.raises(PrivacyError, match="replace_one"):
        published_descent.zcdp_share(Budget(1, 1e-6, neighbors="replace_one"))
    with pytest.raises(ValueError, match="delta = 0"):
        published_descent.descent_noise(Budget(1), 10)
    with pytest.raises(ValueError, match=r"3\.1"):
        published_descent.sgd_noise(Budget(1, 1e-6), 10, 0.1, "3.3")
