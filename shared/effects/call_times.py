"""How long a call to the outside may take within an attempt, and when it is better not begun."""

from datetime import datetime, timedelta

from shared.effects.contract import EffectContract
from shared.errors import NoTimeLeft

SHORTEST_CALL = timedelta(seconds=1)
INTENT_TIME = timedelta(seconds=5)
"""How long writing an intent may take before a call that needs all of its time is not made."""
WRITE_TIME = timedelta(seconds=1)
"""Kept free at the end of an attempt and of its lease for writing what a call gave."""


def call_until(contract: EffectContract, now: datetime, end: datetime) -> datetime:
    """When a call that is intended now has ended at the latest: in time to write its result before `end`.

    Raises NoTimeLeft.
    """
    spare = INTENT_TIME if contract.needs_a_person else timedelta()
    until = min(now + spare + contract.call_timeout, end - WRITE_TIME)
    if until - now < _least(contract):
        raise NoTimeLeft
    return until


def time_for(contract: EffectContract, now: datetime, until: datetime) -> timedelta:
    """How long the call may take that begins now. Raises NoTimeLeft, as in a process that was frozen."""
    left = until - now
    if left <= timedelta() or (contract.needs_a_person and left < contract.call_timeout):
        raise NoTimeLeft
    return min(left, contract.call_timeout)


def _least(contract: EffectContract) -> timedelta:
    """A call that only a person could clear up is not begun without all of its time."""
    return contract.call_timeout if contract.needs_a_person else SHORTEST_CALL
