"""Solvers of the LS problem and its baselines, all run by the one driver in ``loop``."""
