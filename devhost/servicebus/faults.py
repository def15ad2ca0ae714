"""Errors as the broker tells them to a peer: a condition, a sentence, and an info map that is never empty.

The Python SDK reads all three by position, so none may be left out. Conditions: OASIS AMQP 1.0 and
https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot
"""

from __future__ import annotations

from devhost.amqp.outcomes import Error, describe_error
from devhost.amqp.types import Described, Symbol
from devhost.servicebus.model import (
    BrokerError,
    DiskFullError,
    EntityNotFoundError,
    LockLostError,
    MessageNotFoundError,
    NotAllowedError,
    QueueFullError,
)

NOT_FOUND = "amqp:not-found"
NOT_ALLOWED = "amqp:not-allowed"
NOT_IMPLEMENTED = "amqp:not-implemented"
UNAUTHORIZED = "amqp:unauthorized-access"
INTERNAL_ERROR = "amqp:internal-error"
DECODE_ERROR = "amqp:decode-error"
INVALID_FIELD = "amqp:invalid-field"
CONNECTION_FORCED = "amqp:connection:forced"
FRAMING_ERROR = "amqp:connection:framing-error"
HANDLE_IN_USE = "amqp:session:handle-in-use"
UNATTACHED_HANDLE = "amqp:session:unattached-handle"
SIZE_EXCEEDED = "amqp:link:message-size-exceeded"
ARGUMENT_ERROR = "com.microsoft:argument-error"
LOCK_LOST = "com.microsoft:message-lock-lost"
MESSAGE_NOT_FOUND = "com.microsoft:message-not-found"
SERVER_BUSY = "com.microsoft:server-busy"
QUOTA_EXCEEDED = "amqp:resource-limit-exceeded"
DEAD_LETTER = "com.microsoft:dead-letter"

_LONGEST = 360  # bytes of a description: frames of 512 bytes may be all that a peer takes

_STATUS = {
    NOT_FOUND: 404,
    MESSAGE_NOT_FOUND: 404,
    LOCK_LOST: 410,
    ARGUMENT_ERROR: 400,
    DECODE_ERROR: 400,
    NOT_ALLOWED: 400,
    UNAUTHORIZED: 401,
    NOT_IMPLEMENTED: 501,
    SIZE_EXCEEDED: 413,
    QUOTA_EXCEEDED: 403,
    SERVER_BUSY: 503,
}
_OF_ERROR: dict[type[BrokerError], str] = {
    EntityNotFoundError: NOT_FOUND,
    LockLostError: LOCK_LOST,
    MessageNotFoundError: MESSAGE_NOT_FOUND,
    NotAllowedError: NOT_ALLOWED,
    QueueFullError: QUOTA_EXCEEDED,
    DiskFullError: SERVER_BUSY,
}


class FaultError(Exception):
    """Something the peer is told about, in its terms."""

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(description)
        self.condition = condition
        self.description = description

    @property
    def status(self) -> int:
        """The same as the status of a `$management` or `$cbs` answer."""
        return _STATUS.get(self.condition, 500)

    def describe(self) -> Described:
        """The error for a close, detach or rejected outcome. It fits into the smallest frame there is."""
        info: dict[object, object] = {Symbol("broker"): "local"}
        text = self.description.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")
        return describe_error(Error(self.condition, text or self.condition, info))


def unexpected() -> FaultError:
    """For what the broker did not foresee, and logged. Said all the same: without an answer the SDK hangs."""
    return FaultError(INTERNAL_ERROR, "The broker failed to do this; see its log.")


def fault_of(error: BrokerError) -> FaultError:
    """What a peer is told of an engine's error; storage faults are the broker's own.

    The SDK repeats what met one, but a send to a full queue, as with the service's own full queues.
    """
    return FaultError(
        _OF_ERROR.get(type(error), INTERNAL_ERROR), str(error) or "The broker could not do this."
    )
