"""Where clean rows and alerts go."""
