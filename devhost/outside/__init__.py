"""The outside world for tests and the demo: providers that count what happened and make faults by script."""

from devhost.outside.process import Outside
from devhost.outside.remote import Counted, OutsideError, Remote

__all__ = ["Counted", "Outside", "OutsideError", "Remote"]
