"""What can be wrong with bytes or values at the AMQP layer."""

from __future__ import annotations


class AmqpError(ValueError):
    """Base of all errors of the codec."""


class DecodeError(AmqpError):
    """The bytes are not a valid AMQP 1.0 encoding, or exceed a limit."""


class EncodeError(AmqpError):
    """The value has no AMQP 1.0 encoding."""


class FramingError(AmqpError):
    """The stream of frames is broken: nothing after this point can be read."""


class InvalidField(AmqpError):
    """A performative is well-formed but a field has a wrong type or is missing."""
