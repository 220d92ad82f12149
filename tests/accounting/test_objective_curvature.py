import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.objective_curvature import SHAPES, curvature
from discreet.losses import LogisticLoss, PseudoHuberLoss
from tests.accounting.reference_objective import LOSSES, curvature_of


def bound_at(shape, kappa, nodes, s):
    left, right = shape.log_determinant(kappa, nodes)
    i = np.clip(np.searchsorted(nodes, s, side="right") - 1, 0, len(nodes) - 2)
    t = (s - nodes[i]) / (nodes[i + 1] - nodes[i])
    return (1 - t) * left[i] + t * right[i]


@pytest.mark.parametrize("name", SHAPES)
@given(
    kappa=st.floats(1e-3, 1e4),
    inner=st.lists(st.floats(0.001, 0.999), max_size=12, unique=True),
)
def test_the_bound_holds_between_the_nodes_and_not_only_at_them(name, kappa, inner):
    nodes = np.array([0.0, *sorted(inner), 1.0])
    s = np.linspace(0, 1, 997)
    excess = np.log1p(kappa * curvature_of(name, s)) - bound_at(SHAPES[name], kappa, nodes, s)
    assert excess.max() <= 1e-12 * (1 + np.log1p(kappa))


@pytest.mark.parametrize("name", ["logistic", "pseudo_huber", "logistic_soft"])
def test_the_bound_is_tight_on_a_fine_grid(name):
    nodes, s = np.linspace(0, 1, 2001), np.linspace(0, 1, 997)
    gap = bound_at(SHAPES[name], 3.0, nodes, s) - np.log1p(3.0 * curvature_of(name, s))
    assert gap.max() < 1e-5


@pytest.mark.parametrize("name", LOSSES)
def test_no_loss_bends_more_than_its_shape_says(name):
    rng = np.random.default_rng(3)
    margin = rng.normal(0, 4, 4000)
    y = {"logistic": rng.choice([-1.0, 1.0], 4000), "logistic_soft": rng.random(4000)}.get(name, rng.normal(0, 4, 4000))
    s = np.abs(LOSSES[name].derivative(margin, y))
    assert np.all(LOSSES[name].curvature(margin, y) <= curvature_of(name, np.minimum(s, 1)) + 1e-12)


def test_soft_labels_break_the_curvature_of_hard_ones():
    """Planted: the sign-fixed shape with labels in [0, 1]."""
    s = abs(LOSSES["logistic_soft"].derivative(0.0, 0.5))
    assert LOSSES["logistic_soft"].curvature(0.0, 0.5) > curvature_of("logistic", s)


def test_the_losses_of_the_library_agree_with_their_shapes():
    s = np.linspace(0, 1, 101)
    np.testing.assert_allclose(LogisticLoss().curvature_of_slope(s), curvature_of("logistic", s), atol=1e-15)
    np.testing.assert_allclose(PseudoHuberLoss().curvature_of_slope(s), curvature_of("pseudo_huber", s), atol=1e-15)


def rising(s):
    return 0.2 + 0.6 * s * (1 - s) + 0.2 * s


def test_a_loss_of_your_own_gets_monotone_envelopes():
    own = curvature("rising", rising, sign_fixed=True, beta=1.0, slope=0.8)
    nodes = np.linspace(0, 1, 41)
    for lo, hi, h, down, short in zip(
        nodes[:-1],
        nodes[1:],
        own.cells(nodes),
        own.nonincreasing().cells(nodes),
        own.for_short_rows().cells(nodes),
        strict=True,
    ):
        s = np.linspace(lo, hi, 21)
        u = np.linspace(s, 1.0, 401)
        assert rising(s).max() <= h + 1e-12
        assert rising(u).max() <= down + 1e-12
        ratio = (s / np.maximum(u, 1e-9) * rising(u)).max()
        assert ratio <= short + 1e-12
    steep = own.for_short_rows().cells(nodes)
    assert np.all(np.diff(steep / nodes[1:]) <= 1e-9)  # h(s) / s is now nonincreasing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": float("inf")}, "finite"),
        ({"beta": 0.1}, r"into \[0, beta"),
        ({"beta": 1.0}, "increases"),
        ({"beta": 1.0, "slope": 0.1}, "Lipschitz"),
    ],
)
def test_a_curvature_that_breaks_its_word_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        curvature("bad", rising, sign_fixed=True, **arguments)
