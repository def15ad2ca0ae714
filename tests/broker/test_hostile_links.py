"""Links without a token, an address or a handle of their own: refused, and told why."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from devhost.amqp.message import Section, build, split
from devhost.amqp.performatives import RECEIVER, SENDER, Close, Detach, Transfer
from tests.broker.process import BrokerProcess
from tests.broker.raw import Peer, peer_of
from tests.broker.refusals import told
from tests.broker.together import scenario

pytestmark = pytest.mark.broker


@scenario
async def test_a_transfer_on_an_unknown_handle_closes_the_connection(broker: BrokerProcess) -> None:
    """The session alone would be enough, but the SDK waits for ever on one that the broker ended."""
    async with peer_of(broker) as peer:
        await peer.login()
        peer.send(Transfer(handle=9, delivery_id=0))
        assert (await told(peer, Close)).condition == "amqp:session:unattached-handle"
        peer.send(Close())
        await peer.closed()


@scenario
async def test_a_handle_is_attached_once(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.attach(1, SENDER, "$cbs")
        with pytest.raises(EOFError):
            await asyncio.gather(peer.attach(1, SENDER, "$cbs"), hang_up_after_close(peer))


async def hang_up_after_close(peer: Peer) -> None:
    await asyncio.sleep(0.5)
    peer.send(Close())


@scenario
async def test_without_a_token_no_queue_opens(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        for handle, address in enumerate(("plain-0", "plain-0/$management")):
            attached = await peer.attach(handle, RECEIVER, address)
            assert (attached.source, attached.target) == (None, None)
            assert (await told(peer, Detach)).condition == "amqp:unauthorized-access"


@scenario
async def test_a_token_opens_only_its_own_queue(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize("plain-1")
        await peer.attach(1, RECEIVER, "PLAIN-1/$DeadLetterQueue")
        await peer.attach(2, RECEIVER, "plain-10")
        assert (await told(peer, Detach)).condition == "amqp:unauthorized-access"


@scenario
async def test_a_link_without_an_address_is_refused(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.attach(1, RECEIVER, "")
        assert (await told(peer, Detach)).condition == "amqp:invalid-field"


@scenario
async def test_an_unknown_management_operation_is_answered_as_not_implemented(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        node = f"{queue}/$management"
        await peer.attach(1, SENDER, node)
        await peer.attach(2, RECEIVER, node)
        peer.flow(2, 10)
        for number, operation in enumerate(("com.microsoft:get-session-state", "nonsense")):
            request = build(
                properties=[uuid.UUID(int=number)], application_properties={"operation": operation}, value={}
            )
            peer.send(Transfer(handle=1, delivery_id=number, settled=True), request)
            performative, payload = await peer.frame()
            while not isinstance(performative, Transfer):
                performative, payload = await peer.frame()
            reply = split(payload)
            properties = reply.map(Section.APPLICATION_PROPERTIES)
            assert (properties["statusCode"], properties["errorCondition"]) == (501, "amqp:not-implemented")
            assert reply.field(Section.PROPERTIES, 5) == uuid.UUID(int=number)
