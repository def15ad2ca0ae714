"""Many calls at once on one handler"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage

from tests.broker.conformance.behaviour import behaviour, behaviour_of
from tests.broker.conformance.sdk import Sdk, Service

IMPATIENT = {"try_timeout": 4, "retry_backoff_factor": 0.1, "retry_total": 6}
"""The blocking SDK may lose an answer between its threads: it has to ask again in time."""


@behaviour
async def test_concurrent_peeks_on_one_receiver_each_get_their_own_answer(service: Service) -> None:
    queue = service.queue()
    async with service.desk(queue=queue) as desk, service.client(**IMPATIENT) as client:
        await desk.send_list(range(10))
        async with client.get_queue_receiver(queue) as receiver:
            await receiver.peek_messages(1)
            answers = await asyncio.gather(
                *(receiver.peek_messages(1, sequence_number=n % 10 + 1) for n in range(60))
            )
        assert [str(answer[0]) for answer in answers] == [f"{n % 10}" for n in range(60)]


@behaviour
async def test_sixty_locks_are_kept_by_a_renewer_with_its_default_workers(service: Service) -> None:
    queue = service.queue("long")
    async with (
        service.desk(queue=queue) as desk,
        service.client(**IMPATIENT) as client,
        client.get_queue_receiver(queue) as receiver,
        service.renewer() as renewer,
    ):
        await desk.send_list(range(60))
        got: list[ServiceBusReceivedMessage] = []
        while len(got) < 60:
            got += await receiver.receive_messages(60 - len(got), max_wait_time=10)
        first_end = got[0].locked_until_utc
        assert first_end is not None
        for message in got:
            renewer.register(receiver, message, max_lock_renewal_duration=60)
        await asyncio.sleep((first_end - datetime.now(UTC) + timedelta(seconds=2)).total_seconds())
        assert {repr(m.auto_renew_error) for m in got} == {"None"}  # later ones may meet the settlement
        for message in got:
            await receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour_of(Sdk.AIO)  # the blocking receiver is not to be used by several threads
async def test_settlements_at_once_on_one_receiver_are_each_confirmed(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(50))
        await asyncio.gather(*(desk.receiver.complete_message(m) for m in await desk.receive(50)))
        assert await desk.stored() == []


@behaviour_of(Sdk.AIO)  # the blocking sender is not to be used by several threads
async def test_sends_at_once_on_one_sender_are_each_confirmed(service: Service) -> None:
    async with service.desk() as desk:
        await asyncio.gather(
            *(desk.sender.send_messages(ServiceBusMessage(f"{number}")) for number in range(50))
        )
        assert sorted(await desk.stored(), key=int) == [f"{n}" for n in range(50)]
