"""Penalties: constraint sets with their geometry, and composite terms with their prox.  ``__all__`` is the registry."""

from __future__ import annotations

from discreet.penalties.base import ConstraintSet as ConstraintSet
from discreet.penalties.base import Penalty as Penalty
from discreet.penalties.box import Box
from discreet.penalties.elastic_net import ElasticNet
from discreet.penalties.group_l1_ball import GroupL1Ball
from discreet.penalties.l1 import L1
from discreet.penalties.l1_ball import L1Ball
from discreet.penalties.l2 import L2
from discreet.penalties.l2_ball import L2Ball
from discreet.penalties.lq_ball import LqBall
from discreet.penalties.polytope import Polytope
from discreet.penalties.simplex import Simplex
from discreet.penalties.sparsity import Sparsity
from discreet.penalties.vertex_map import VertexMap as VertexMap

__all__ = [
    "L1",
    "L2",
    "Box",
    "ElasticNet",
    "GroupL1Ball",
    "L1Ball",
    "L2Ball",
    "LqBall",
    "Polytope",
    "Simplex",
    "Sparsity",
]
