"""The field model behind ``method="auto"``."""
