"""The token node `$cbs` (OASIS AMQP Claims-based Security 1.0).

Its answers carry `status-code` and `status-description`, with hyphens, unlike `$management`.
"""

from __future__ import annotations

from collections.abc import Callable

from devhost.amqp.errors import DecodeError
from devhost.amqp.message import RawMessage, Section, build
from devhost.amqp.types import Int
from devhost.servicebus.faults import ARGUMENT_ERROR, NOT_IMPLEMENTED, FaultError
from devhost.servicebus.sas import Grant, SharedKey, check_token

MESSAGE_ID = 0
_MAX_GRANTS = 256


class Cbs:
    """Checks tokens and keeps what they grant, per connection, by entity path."""

    def __init__(self, key: SharedKey, clock: Callable[[], float], grants: dict[str, Grant]) -> None:
        self._key = key
        self._clock = clock
        self._grants = grants

    async def answer(self, request: RawMessage) -> bytes:
        """The answer to a request; errors are answers too."""
        code, text = 202, "Accepted"
        try:
            self._put_token(request)
        except FaultError as fault:
            code, text = fault.status, fault.description
        except DecodeError as error:
            code, text = 400, f"The request cannot be read: {error}."
        return build(
            properties=[None] * 5 + [request.field(Section.PROPERTIES, MESSAGE_ID)],
            application_properties={"status-code": Int(code), "status-description": text},
        )

    def _put_token(self, request: RawMessage) -> None:
        asked = request.map(Section.APPLICATION_PROPERTIES)
        if asked.get("operation") != "put-token":
            raise FaultError(NOT_IMPLEMENTED, "Only the operation put-token is known here.")
        token, audience = request.value(), asked.get("name")
        if not isinstance(token, str) or not isinstance(audience, str):
            raise FaultError(ARGUMENT_ERROR, "A token needs a string body and the entity's name.")
        grant = check_token(token, audience, self._key, self._clock())
        if len(self._grants) >= _MAX_GRANTS:
            self._grants.pop(next(iter(self._grants)))
        self._grants[grant.path.lower()] = grant
