"""Which faults a proxy has switched on, and telling the connections when that changes."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from enum import StrEnum


class Direction(StrEnum):
    """A stream of bytes through the proxy, seen from the client."""

    UP = "up"
    """From the client to the target: requests."""
    DOWN = "down"
    """From the target to the client: answers."""

    @property
    def other(self) -> "Direction":
        """The stream the other way."""
        return Direction.DOWN if self is Direction.UP else Direction.UP


class Ending(StrEnum):
    """How a stream is ended."""

    RESET = "reset"
    """TCP RST, as when a process dies or a network box forgets the connection."""
    FIN = "fin"
    """TCP FIN, as when the peer closes in order."""


class Fault(StrEnum):
    """What can be switched on, and healed."""

    DELAY = "delay"
    THROTTLE = "throttle"
    STALL = "stall"
    BLACK_HOLE = "black_hole"
    CUT_AFTER = "cut_after"
    LOSE_ANSWERS = "lose_answers"
    REFUSE = "refuse"


@dataclass(slots=True)
class Cut:
    """Let `left` more bytes through, then end the connection that brings another."""

    left: int
    ending: Ending


@dataclass(slots=True)
class Switches:
    """The faults of one direction; what is not set does nothing."""

    delay: float = 0.0
    rate: float | None = None
    stall: bool = False
    black_hole: bool = False
    cut: Cut | None = None


@dataclass(slots=True)
class LostAnswers:
    """Cut the connection in place of the next `left` answers, after `skip` that pass."""

    left: int = 0
    skip: int = 0

    def take(self) -> bool:
        """An answer begins; whether it is one to lose."""
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.left > 0:
            self.left -= 1
            return True
        return False


@dataclass(slots=True)
class State:
    """All of one proxy's faults and counts. Belongs to the proxy's event loop."""

    switches: dict[Direction, Switches] = field(
        default_factory=lambda: {direction: Switches() for direction in Direction}
    )
    lost: LostAnswers = field(default_factory=LostAnswers)
    passed: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(Direction, 0))
    """Bytes handed to the receiving side's socket since the start."""
    cuts: int = 0
    """Connections ended by `cut_after` or in place of an answer."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Something changed: whoever waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self, seconds: float | None = None) -> None:
        """Wait for a change, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    def heal(self, fault: Fault) -> None:
        """Switch one fault off, in both directions."""
        for switches in self.switches.values():
            match fault:
                case Fault.DELAY:
                    switches.delay = 0.0
                case Fault.THROTTLE:
                    switches.rate = None
                case Fault.STALL:
                    switches.stall = False
                case Fault.BLACK_HOLE:
                    switches.black_hole = False
                case Fault.CUT_AFTER:
                    switches.cut = None
                case Fault.LOSE_ANSWERS:
                    self.lost = LostAnswers()
                case Fault.REFUSE:
                    pass  # the proxy's own listener
