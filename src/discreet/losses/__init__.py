"""Losses: functions of a margin and a target, with public constants.  ``__all__`` is the registry."""

from __future__ import annotations

from discreet.losses.base import Loss as Loss
from discreet.losses.huber import HuberLoss
from discreet.losses.logistic import LogisticLoss
from discreet.losses.poisson import PoissonLoss
from discreet.losses.pseudo_huber import PseudoHuberLoss
from discreet.losses.quantile import QuantileLoss
from discreet.losses.smoothed_hinge import HuberHingeLoss, SmoothedHingeLoss
from discreet.losses.softmax import SoftmaxLoss
from discreet.losses.squared import SquaredLoss

__all__ = [
    "HuberHingeLoss",
    "HuberLoss",
    "LogisticLoss",
    "PoissonLoss",
    "PseudoHuberLoss",
    "QuantileLoss",
    "SmoothedHingeLoss",
    "SoftmaxLoss",
    "SquaredLoss",
]
