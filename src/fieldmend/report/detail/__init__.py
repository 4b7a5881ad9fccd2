"""Every node's numbers, as fine as the file has room for, and how fine that is."""

from fieldmend.report.detail.planning import Detail, plan

__all__ = ["Detail", "plan"]
