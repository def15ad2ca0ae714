from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.servicebus import rules
from devhost.servicebus.model import (
    Abandon,
    Complete,
    DeadLetter,
    Defer,
    Disposition,
    LockLostError,
    MessageState,
    NotAllowedError,
    QueuePolicy,
    Release,
    SubQueue,
)
from devhost.servicebus.rules import Activate, Held, Keep, Outcome, Remove, ToDeadLetter

NOW = 1000.0
POLICY = QueuePolicy("q", lock_seconds=30, max_delivery_count=3, dead_letter_on_expiration=True)


def held(
    state: MessageState = MessageState.ACTIVE,
    count: int = 0,
    *,
    expires_at: float | None = None,
    locked_until: float | None = NOW + 10,
) -> Held:
    return Held(state, count, NOW - 100, None, expires_at, locked_until)


def settle(message: Held, disposition: Disposition, sub: SubQueue = SubQueue.MAIN) -> Outcome:
    return rules.on_settle(message, POLICY, sub, disposition, NOW)


def test_the_shorter_time_to_live_counts() -> None:
    policy = QueuePolicy("q", default_ttl_ms=5000)
    assert rules.expiry(2000, NOW, policy) == NOW + 2
    assert rules.expiry(9000, NOW, policy) == NOW + 5
    assert rules.expiry(None, NOW, policy) == NOW + 5
    assert rules.expiry(None, NOW, QueuePolicy("q")) is None


def test_a_message_scheduled_for_the_past_is_active_at_once() -> None:
    admission = rules.admit(None, NOW - 1, POLICY, NOW)
    assert (admission.state, admission.enqueued_at) == (MessageState.ACTIVE, NOW)


def test_a_scheduled_messages_time_to_live_starts_at_its_activation() -> None:
    assert rules.admit(1000, NOW + 50, POLICY, NOW).expires_at is None
    waiting = Held(MessageState.SCHEDULED, 0, NOW, 1000, None, None)
    assert rules.on_time(waiting, POLICY, SubQueue.MAIN, NOW + 7) == Activate(NOW + 7, NOW + 8)


def test_each_disposition_has_its_outcome() -> None:
    assert settle(held(), Complete()) == Remove()
    assert settle(held(), Abandon()) == Keep(MessageState.ACTIVE, 1)
    assert settle(held(), Release()) == Keep(MessageState.ACTIVE, 0)
    assert settle(held(), Defer()) == Keep(MessageState.DEFERRED, 1)
    assert settle(held(count=1), DeadLetter("why", "because")) == ToDeadLetter(1, "why", "because")


def test_the_last_failure_dead_letters() -> None:
    outcome = settle(held(count=2), Abandon())
    assert isinstance(outcome, ToDeadLetter)
    assert (outcome.delivery_count, outcome.reason) == (3, "MaxDeliveryCountExceeded")
    assert settle(held(count=1), Abandon()) == Keep(MessageState.ACTIVE, 2)


def test_a_release_never_dead_letters() -> None:
    assert settle(held(count=2), Release()) == Keep(MessageState.ACTIVE, 2)


def test_an_abandoned_deferred_message_stays_deferred() -> None:
    assert settle(held(MessageState.DEFERRED, 1), Abandon()) == Keep(MessageState.DEFERRED, 2)


def test_nothing_is_settled_without_a_lock_that_holds() -> None:
    for lost in (None, NOW, NOW - 1):
        with pytest.raises(LockLostError):
            settle(held(locked_until=lost), Complete())


def test_a_dead_letter_cannot_be_dead_lettered_again() -> None:
    with pytest.raises(NotAllowedError):
        settle(held(), DeadLetter(), SubQueue.DEADLETTER)


def test_dead_letters_are_delivered_without_limit() -> None:
    assert settle(held(count=99), Abandon(), SubQueue.DEADLETTER) == Keep(MessageState.ACTIVE, 100)


def test_a_lock_that_ends_counts_as_a_failure() -> None:
    ended = held(count=0, locked_until=NOW)
    assert rules.on_time(ended, POLICY, SubQueue.MAIN, NOW) == Keep(MessageState.ACTIVE, 1)


def test_a_message_that_expires_under_its_lock_stays_with_its_holder() -> None:
    message = held(expires_at=NOW - 1)
    assert rules.on_time(message, POLICY, SubQueue.MAIN, NOW) is None
    assert settle(message, Complete()) == Remove()
    given_back = settle(message, Abandon())
    assert isinstance(given_back, ToDeadLetter)
    assert (given_back.reason, given_back.delivery_count) == ("TTLExpiredException", 1)


def test_an_expired_message_is_dropped_where_the_queue_says_so() -> None:
    dropping = QueuePolicy("q", dead_letter_on_expiration=False)
    expired = held(expires_at=NOW, locked_until=None)
    assert rules.on_time(expired, dropping, SubQueue.MAIN, NOW) == Remove()


def test_a_message_that_failed_too_often_is_kept_though_it_expired() -> None:
    dropping = QueuePolicy("q", max_delivery_count=1, dead_letter_on_expiration=False)
    outcome = rules.on_settle(held(expires_at=NOW - 1), dropping, SubQueue.MAIN, Abandon(), NOW)
    assert isinstance(outcome, ToDeadLetter)
    assert outcome.reason == "MaxDeliveryCountExceeded"


def test_a_deferred_message_expires_only_when_asked_for() -> None:
    message = held(MessageState.DEFERRED, expires_at=NOW - 1, locked_until=None)
    assert rules.on_time(message, POLICY, SubQueue.MAIN, NOW) is None
    assert isinstance(rules.on_fetch(message, POLICY, NOW), ToDeadLetter)


times = st.floats(min_value=0, max_value=2000).map(lambda value: round(value, 3))
messages = st.builds(
    Held,
    st.sampled_from(MessageState),
    st.integers(0, 20),
    times,
    st.none() | st.integers(0, 10_000),
    st.none() | times,
    st.none() | times,
)
policies = st.builds(
    QueuePolicy,
    st.just("q"),
    max_delivery_count=st.integers(1, 10),
    default_ttl_ms=st.none() | st.integers(1, 10_000),
    dead_letter_on_expiration=st.booleans(),
)
dispositions = st.one_of(*map(st.just, (Complete(), Abandon(), Release(), Defer(), DeadLetter("r", None))))
subs = st.sampled_from(SubQueue)


@given(messages, policies, subs, times)
def test_time_acts_exactly_when_something_is_due(
    message: Held, policy: QueuePolicy, sub: SubQueue, now: float
) -> None:
    due = rules.next_due(message)
    acts = rules.on_time(message, policy, sub, now) is not None
    assert acts == (due is not None and due <= now)


@given(messages, policies, subs, times)
def test_what_time_leaves_in_place_is_not_due_at_once_again(
    message: Held, policy: QueuePolicy, sub: SubQueue, now: float
) -> None:
    outcome = rules.on_time(message, policy, sub, now)
    if isinstance(outcome, Keep):
        kept = Held(
            outcome.state, outcome.delivery_count, message.enqueued_at, None, message.expires_at, None
        )
        if kept.state is not MessageState.SCHEDULED:
            assert rules.on_time(kept, policy, sub, now) is None


@given(messages, policies, subs, dispositions, times)
def test_a_settlement_removes_only_what_is_completed_or_expired(
    message: Held, policy: QueuePolicy, sub: SubQueue, disposition: Disposition, now: float
) -> None:
    try:
        outcome = rules.on_settle(message, policy, sub, disposition, now)
    except LockLostError:
        assert message.locked_until is None or message.locked_until <= now
        return
    except NotAllowedError:
        assert isinstance(disposition, DeadLetter)
        return
    if outcome == Remove() and not isinstance(disposition, Complete):
        assert message.expires_at is not None
        assert message.expires_at <= now
        assert not policy.dead_letter_on_expiration


@given(messages, policies, dispositions, times)
def test_in_a_queue_a_failed_message_is_never_offered_past_its_limit(
    message: Held, policy: QueuePolicy, disposition: Disposition, now: float
) -> None:
    try:
        outcome = rules.on_settle(message, policy, SubQueue.MAIN, disposition, now)
    except LockLostError:
        return
    if isinstance(disposition, Abandon) and isinstance(outcome, Keep):
        assert outcome.delivery_count == message.delivery_count + 1 < policy.max_delivery_count
