"""The version, beneath everything: what is written down says what wrote it."""

__version__ = "0.2.0"
