"""Outcomes in the engine's words."""

import pytest

from devhost.amqp.outcomes import Accepted, DeliveryState, Error, Modified, Rejected, Released, describe_error
from devhost.amqp.types import Described, Symbol, ULong
from devhost.servicebus.model import Abandon, Complete, DeadLetter, Defer, Disposition, Release
from devhost.servicebus.settlement import disposition_of

INFO: dict[object, object] = {Symbol("DeadLetterReason"): "r", Symbol("DeadLetterErrorDescription"): "d"}
NULLS: dict[object, object] = {Symbol("DeadLetterReason"): None, Symbol("DeadLetterErrorDescription"): None}


@pytest.mark.parametrize(
    ("state", "disposition"),
    [
        (Accepted(), Complete()),
        (Released(), Release()),
        (Modified(delivery_failed=True), Abandon()),
        (Modified(), Release()),
        (Modified(delivery_failed=True, undeliverable_here=True), Defer()),
        (Rejected(), DeadLetter()),
        (Rejected(describe_error(Error("com.microsoft:dead-letter", "d", INFO))), DeadLetter("r", "d")),
        (Rejected(describe_error(Error("com.microsoft:dead-letter", None, NULLS))), DeadLetter()),
        (Rejected(describe_error(Error("x:y", "only this"))), DeadLetter(None, "only this")),
        (Rejected(Described(ULong(1), [])), DeadLetter()),
    ],
)
def test_an_outcome_means_its_disposition(state: DeliveryState, disposition: Disposition) -> None:
    assert disposition_of(state) == disposition
