"""What holds for every test: the same examples in every run, slowness is no failure, references have 60 digits."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import HealthCheck, settings

DIGITS = 60
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
mpmath.mp.dps = DIGITS  # mpmath's precision is the whole process's: a test that changes it does so in a ``workdps``


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    try:
        return (yield)
    finally:
        left, mpmath.mp.dps = mpmath.mp.dps, DIGITS
        assert left == DIGITS, f"{item.nodeid} leaves mpmath at {left} digits, where every test starts at {DIGITS}"
