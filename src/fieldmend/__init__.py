"""Recover the field a sensor network measured: lost readings filled, false ones flagged."""

from typing import TYPE_CHECKING

from fieldmend.version import __version__

__all__ = [
    "ConvergenceWarning",
    "Decomposition",
    "FieldModel",
    "FieldRecovery",
    "Grid",
    "InputError",
    "LSDecomposition",
    "Plan",
    "Records",
    "Recovery",
    "Status",
    "__version__",
    "decompose",
    "diagnostics",
    "metrics",
    "plan",
    "read",
    "recover",
    "simulate",
]

if TYPE_CHECKING:
    from fieldmend import diagnostics, metrics, simulate
    from fieldmend.core.loop import Status
    from fieldmend.decomposition import ConvergenceWarning, Decomposition, decompose
    from fieldmend.errors import InputError
    from fieldmend.estimators import FieldRecovery, LSDecomposition
    from fieldmend.field.fieldmodel import FieldModel
    from fieldmend.grid import Grid
    from fieldmend.planning import Plan, plan
    from fieldmend.records import Records, read
    from fieldmend.recovery import Recovery, recover
else:
    # Nothing is imported before it is asked for: NumPy, SciPy, DuckDB and scikit-learn are heavy,
    # and `fieldmend --help` needs none of them.
    _HOMES = {
        "ConvergenceWarning": "decomposition",
        "Decomposition": "decomposition",
        "FieldModel": "field.fieldmodel",
        "FieldRecovery": "estimators",
        "Grid": "grid",
        "InputError": "errors",
        "LSDecomposition": "estimators",
        "Plan": "planning",
        "Records": "records",
        "Recovery": "recovery",
        "Status": "core.loop",
        "decompose": "decomposition",
        "diagnostics": "",
        "metrics": "",
        "plan": "planning",
        "read": "records",
        "recover": "recovery",
        "simulate": "",
    }

    def _offer_shortcuts():
        """Give pandas and xarray ``.fieldmend`` where somebody imported them: a look, no import."""
        import sys

        # None stands for a library that somebody wants to be absent.
        if loaded := [name for name in ("pandas", "xarray") if sys.modules.get(name)]:
            from fieldmend.shortcuts import offer

            offer(loaded)

    def __getattr__(name):
        from importlib import import_module

        _offer_shortcuts()  # pandas may have come after this package
        if name not in _HOMES:
            msg = f"module 'fieldmend' has no attribute {name!r}"
            raise AttributeError(msg)
        home = _HOMES[name]
        found = import_module(f"fieldmend.{home or name}")
        globals()[name] = found = getattr(found, name) if home else found
        return found

    def __dir__():
        return sorted({*globals(), *__all__})

    _offer_shortcuts()
