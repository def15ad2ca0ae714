"""The outside world for tests and the demo: providers that count what happened and make faults by script."""

from devhost.outside.client import Counted, Outside, OutsideError

__all__ = ["Counted", "Outside", "OutsideError"]
