"""The paper's experiments as functions: parameters in, tidy table out; and the same for your data.

``paper.run`` is behind ``fieldmend paper``, ``evaluate.evaluate`` behind ``fieldmend evaluate``.
"""
