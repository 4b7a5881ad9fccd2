"""The automatic field model: arrays only."""
