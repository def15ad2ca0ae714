from __future__ import annotations

import pytest

from devhost.servicebus.entities import Directory
from devhost.servicebus.model import EntityNotFoundError, QueuePolicy, QueueRef, SubQueue

DIRECTORY = Directory([QueuePolicy("Jobs"), QueuePolicy("team/jobs")])


@pytest.mark.parametrize(
    ("address", "ref"),
    [
        ("jobs", QueueRef("Jobs")),
        ("/JOBS/", QueueRef("Jobs")),
        ("amqps://127.0.0.1:5672/jobs", QueueRef("Jobs")),
        ("sb://host/jobs/$DeadLetterQueue", QueueRef("Jobs", SubQueue.DEADLETTER)),
        ("jobs/$deadletterqueue", QueueRef("Jobs", SubQueue.DEADLETTER)),
        ("Team/Jobs", QueueRef("team/jobs")),
        ("team/jobs/$DEADLETTERQUEUE", QueueRef("team/jobs", SubQueue.DEADLETTER)),
    ],
)
def test_an_address_is_found_in_every_form_and_case(address: str, ref: QueueRef) -> None:
    assert DIRECTORY.resolve(address) == ref


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/",
        "other",
        "jobs/$management",
        "jobs/$Transfer/$DeadLetterQueue",
        "$DeadLetterQueue",
        "sb://jobs",
    ],
)
def test_an_unknown_address_is_refused(address: str) -> None:
    with pytest.raises(EntityNotFoundError):
        DIRECTORY.resolve(address)


def test_a_refusal_names_the_address_and_says_what_there_is() -> None:
    with pytest.raises(EntityNotFoundError, match=r"'topic/subscriptions/s' .* only queues"):
        DIRECTORY.resolve("topic/subscriptions/s")


def test_every_reference_resolves_from_its_own_address() -> None:
    assert [DIRECTORY.resolve(ref.address) for ref in DIRECTORY.refs] == DIRECTORY.refs
    assert len(DIRECTORY.refs) == 4
