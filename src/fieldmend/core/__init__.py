"""The paper's problem and its solvers: arrays only."""
