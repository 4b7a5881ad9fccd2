"""HTTP: readings in; JSON, events, numbers and a page out."""

from fieldmend.live.server.running import Server, start
from fieldmend.live.server.serving import Serving, UnsafeError, serving

__all__ = ["Server", "Serving", "UnsafeError", "serving", "start"]
