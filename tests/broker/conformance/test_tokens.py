"""Keys and tokens"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import ClassVar

from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential
from azure.servicebus import ServiceBusMessage
from azure.servicebus._pyamqp.utils import generate_sas_token

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.refused import token_refused
from tests.broker.conformance.sdk import Service

NAME, KEY = "RootManageSharedAccessKey", "SAS_KEY_VALUE"


def sas_token(audience: str, expires: int) -> str:
    """A shared access signature for everything at and below the audience."""
    token: str = generate_sas_token(audience, NAME, KEY, expires)  # type: ignore[no-untyped-call]  # the SDK's own
    return token


@dataclass
class Tokens:
    """Makes tokens of a life in seconds, for what is asked for or for another audience."""

    token_type: ClassVar[bytes] = b"servicebus.windows.net:sastoken"

    life: int
    audience: str = ""
    made: list[str] = field(default_factory=list)

    def token(self, *scopes: str) -> AccessToken:
        """The next token."""
        expires = int(time.time()) + self.life
        self.made.append(sas_token(self.audience or scopes[0], expires))
        return AccessToken(self.made[-1], expires)


@behaviour
async def test_a_token_is_renewed_before_it_ends_on_the_same_connection(service: Service) -> None:
    tokens = Tokens(life=10)
    async with service.client_with(tokens) as client:
        queue = service.queue()
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages(ServiceBusMessage("x"))
            connection = service.connection(sender)
            until = time.monotonic() + 12
            while time.monotonic() < until:
                await sender.send_messages(ServiceBusMessage("x"))
                await asyncio.sleep(0.2)
            assert len(tokens.made) >= 2
            assert service.connection(sender) is connection


@behaviour
async def test_a_handler_whose_token_ended_while_it_was_idle_goes_on_with_a_new_one(
    service: Service,
) -> None:
    tokens = Tokens(life=3)
    async with service.client_with(tokens) as client:
        queue = service.queue()
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages(ServiceBusMessage("x"))
            await asyncio.sleep(3.5)
            await sender.send_messages(ServiceBusMessage("y"))
        assert len(tokens.made) >= 2


@behaviour
async def test_a_token_for_the_namespace_opens_every_queue(service: Service) -> None:
    tokens = Tokens(life=600, audience=f"sb://127.0.0.1:{service.broker.port}/")
    async with service.client_with(tokens) as client:
        await client.get_queue_sender(service.queue()).send_messages(ServiceBusMessage("x"))


@behaviour
async def test_a_token_for_another_queue_opens_nothing(service: Service) -> None:
    tokens = Tokens(life=600, audience=f"sb://127.0.0.1:{service.broker.port}/plain-0")
    async with service.client_with(tokens, retry_total=0) as client:
        with token_refused("another entity"):
            await client.get_queue_sender("plain-1").send_messages(ServiceBusMessage("x"))


@behaviour
async def test_a_token_that_has_ended_opens_nothing(service: Service) -> None:
    tokens = Tokens(life=-5)
    async with service.client_with(tokens, retry_total=0) as client:
        with token_refused("expired"):
            await client.get_queue_sender("plain-0").send_messages(ServiceBusMessage("x"))


@behaviour
async def test_a_token_that_is_no_shared_access_signature_opens_nothing(service: Service) -> None:
    @dataclass
    class Other:
        token_type: ClassVar[str] = "jwt"

        def token(self, *_scopes: str) -> AccessToken:
            return AccessToken("eyJ.of-another.kind", int(time.time()) + 600)

    async with service.client_with(Other(), retry_total=0) as client:
        with token_refused("shared access signatures"):
            await client.get_queue_receiver("plain-0").peek_messages(1)


@behaviour
async def test_a_named_key_serves_as_credential(service: Service) -> None:
    async with service.client_with(AzureNamedKeyCredential(NAME, KEY)) as client:
        await client.get_queue_sender(service.queue()).send_messages(ServiceBusMessage("x"))


@behaviour
async def test_a_signature_made_elsewhere_serves_as_credential(service: Service) -> None:
    queue = service.queue()
    audience = f"sb://127.0.0.1:{service.broker.port}/{queue}"
    credential = AzureSasCredential(sas_token(audience, int(time.time()) + 600))
    async with service.client_with(credential) as client:
        await client.get_queue_sender(queue).send_messages(ServiceBusMessage("x"))
        assert len(await client.get_queue_receiver(queue).peek_messages(1)) == 1
