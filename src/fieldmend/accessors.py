"""``import fieldmend.accessors``: `shortcuts` in every library that is installed, loaded or not."""

from importlib.util import find_spec

from fieldmend.shortcuts import ACCESSORS, ArrayAccessor, FrameAccessor, offer

__all__ = ["ACCESSORS", "ArrayAccessor", "FrameAccessor"]

offer(library for library in ACCESSORS if find_spec(library) is not None)
