"""Protocol headers and SASL at the start of a connection.

Only ANONYMOUS is offered: what a client may do is decided by the tokens it puts to `$cbs` later.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from devhost.amqp import sasl
from devhost.amqp.framing import AMQP_HEADER, SASL_FRAME, SASL_HEADER, encode_frame
from devhost.servicebus.faults import NOT_ALLOWED, FaultError

_ANONYMOUS = "ANONYMOUS"


class _Step(Enum):
    START = auto()
    SASL = auto()
    AUTHENTICATED = auto()
    DONE = auto()


class Handshake:
    """Answers headers and SASL frames; a method that returns False means: hang up."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._step = _Step.START

    @property
    def done(self) -> bool:
        """Whether an open may come."""
        return self._step is _Step.DONE

    def on_header(self, octets: bytes) -> bool:
        """A protocol header; one that is not supported is answered by the one that is."""
        if self._step is _Step.START and octets == SASL_HEADER:
            self._step = _Step.SASL
            offer = sasl.encode_sasl(sasl.Mechanisms((_ANONYMOUS,)))
            self._write(SASL_HEADER + encode_frame(offer, kind=SASL_FRAME))
            return True
        if self._step is _Step.AUTHENTICATED and octets == AMQP_HEADER:
            self._step = _Step.DONE
            self._write(AMQP_HEADER)
            return True
        self._write(SASL_HEADER if self._step is _Step.START else AMQP_HEADER)
        return False

    def on_sasl(self, body: bytes) -> bool:
        """A SASL frame. Raises `AmqpError` or `FaultError`."""
        init = sasl.decode_sasl(body)
        if self._step is not _Step.SASL or not isinstance(init, sasl.Init):
            raise FaultError(NOT_ALLOWED, "The SASL frame has no place here.")
        known = init.mechanism == _ANONYMOUS
        outcome = sasl.Outcome(sasl.OK if known else sasl.AUTH_FAILED)
        self._write(encode_frame(sasl.encode_sasl(outcome), kind=SASL_FRAME))
        if known:
            self._step = _Step.AUTHENTICATED
        return known
