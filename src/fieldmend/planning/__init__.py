"""How seldom the nodes of a network may send, so that the rest is recovered within an error."""

from fieldmend.planning.job import plan
from fieldmend.planning.result import Plan

__all__ = ["Plan", "plan"]
