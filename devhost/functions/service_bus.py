"""Service Bus queue triggers: complete when the function returns, abandon when it raises.

Sources: https://learn.microsoft.com/azure/azure-functions/functions-bindings-service-bus-trigger and
ServiceBusListener.cs in Azure/azure-sdk-for-net.
"""

import asyncio
import random
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

from azure.servicebus import ServiceBusReceivedMessage, parse_connection_string

from devhost.functions.context import TraceContext, child_trace
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.hostjson import ServiceBusOptions
from devhost.functions.invocation import Invoker
from devhost.functions.log import host_log
from devhost.functions.service_bus_link import QueueAddress, QueueLink
from devhost.functions.service_bus_message import application_properties, body_of, metadata_of
from devhost.functions.service_bus_pool import LinkPool
from devhost.functions.settings import AppSettings

_BACKOFF_SECONDS = (0.2, 0.4, 0.8, 1.6, 3.2, 5.0)
_FIRST_ATTEMPT_SECONDS = 5.0
_DEFAULT_CONNECTION = "ServiceBus"
_REMEMBERED = 1000
_RECEIVES_AT_ONCE = 3
"""A receive takes two ways and a commit of the broker: so many at a time keep a core busy."""


class QueueListener:
    """Feeds one function from one queue, at most `maxConcurrentCalls` messages at a time.

    Raises FunctionLoadError for a binding that cannot work here.
    """

    def __init__(
        self,
        function: FunctionDefinition,
        settings: AppSettings,
        options: ServiceBusOptions,
        invoker: Invoker,
    ) -> None:
        _check_binding(function)
        self._function = function
        self._options = options
        self._invoker = invoker
        self._address = _address_of(function, settings)
        self._binary = str(function.trigger.get("dataType", "")).upper() in {"BINARY", "STREAM"}
        self._auto_complete = bool(function.trigger.get("autoCompleteMessages", options.auto_complete))
        self._links = LinkPool(self._address, options.max_concurrent_calls)
        self._slots = asyncio.Semaphore(options.max_concurrent_calls)
        self._stopping = asyncio.Event()
        self._attempted = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._trouble: str | None = None
        self._failures = 0
        # Of messages that failed here: a delivery count would not do, it goes on in the dead-letter queue.
        self._failed: deque[int | None] = deque(maxlen=_REMEMBERED)

    async def start(self) -> None:
        """Listen in the background, after a first attempt; a broker that is away stops nothing."""
        for number in range(min(_RECEIVES_AT_ONCE, self._options.max_concurrent_calls)):
            name = f"queue:{self._function.name}:{number}"
            self._pumps.add(asyncio.create_task(self._listen(), name=name))
        try:
            await asyncio.wait_for(self._attempted.wait(), _FIRST_ATTEMPT_SECONDS)
        except TimeoutError:
            host_log.warning("event=queue_not_reached_yet function=%s", self._function.name)

    def stop(self) -> None:
        """Receive no more; a message that still arrives is abandoned."""
        self._stopping.set()

    async def drain(self) -> None:
        """Wait until nothing is received any more and every message in hand is settled."""
        if self._pumps:
            await asyncio.wait(self._pumps)
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        for task in {*self._tasks, *self._pumps}:
            task.cancel()
            await asyncio.wait({task})
        await self._links.close()

    async def _listen(self) -> None:
        """Receive for ever; a broken link is replaced, whatever broke it, and takes no capacity with it."""
        while await self._slot():
            handed_on = False
            try:
                handed_on = await self._receive_one()
            except Exception as error:  # noqa: BLE001 - if the listener died, nobody would know
                self._report(error)
                await self._pause(_BACKOFF_SECONDS[min(self._failures, len(_BACKOFF_SECONDS) - 1)])
                self._failures += 1
            finally:
                if not handed_on:
                    self._slots.release()

    async def _receive_one(self) -> bool:
        """Wait for a message, which then runs on its own, with its link and slot.

        False if none came: the host stops, or the link is worn out.
        """
        link = await self._links.take()
        self._report(None)
        # A link that waited in vain keeps its credit: put aside, it would lock a message and let it lie.
        while not self._stopping.is_set() and not link.broken:
            try:
                message = await link.receive()
            except Exception:
                self._links.discard(link)
                raise
            self._failures = 0
            if message is not None:
                self._spawn(self._take(link, message))
                return True
        self._links.put(link)
        return False

    async def _slot(self) -> bool:
        """Wait for a free call; False when the host is stopping."""
        if not self._slots.locked() and not self._stopping.is_set():
            await self._slots.acquire()
            return True
        acquire = asyncio.create_task(self._slots.acquire())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({acquire, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not self._stopping.is_set():
            return True
        if acquire.done():
            self._slots.release()
        acquire.cancel()
        return False

    async def _take(self, link: QueueLink, message: ServiceBusReceivedMessage) -> None:
        """One message, from its arrival to its settlement."""
        try:
            if self._stopping.is_set() or not await self._run(link, message):
                await link.abandon(message)
            elif self._auto_complete:
                await link.complete(message)
        finally:
            self._links.put(link)
            self._slots.release()

    async def _run(self, link: QueueLink, message: ServiceBusReceivedMessage) -> bool:
        """Call the function while its lock is renewed; whether it returned."""
        done = asyncio.Event()
        if self._options.max_auto_lock_renewal:
            self._spawn(link.renew_until(message, done, self._options.max_auto_lock_renewal))
        try:
            await self._invoker.invoke(
                self._function,
                body_of(message, binary=self._binary),
                _trace_of(application_properties(message)),
                metadata_of(message),
                repeat=message.sequence_number in self._failed,
            )
        except Exception as error:  # noqa: BLE001 - whatever the function raises abandons its message
            if message.sequence_number not in self._failed:
                self._failed.append(message.sequence_number)
            host_log.debug("event=abandoning error=%s", type(error).__name__)
            return False
        finally:
            done.set()
        return True

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, trouble: Exception | None) -> None:
        """Log a change of state once, not every attempt."""
        kind = None if trouble is None else type(trouble).__name__
        if kind == self._trouble and self._attempted.is_set():
            return
        self._trouble = kind
        self._attempted.set()
        if trouble is None:
            host_log.info(
                "event=queue_listening function=%s queue=%s", self._function.name, self._address.queue
            )
        else:
            host_log.warning(
                "event=queue_away function=%s queue=%s error=%s",
                self._function.name,
                self._address.queue,
                kind,
            )

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds * random.uniform(0.75, 1.25))  # noqa: S311 - jitter
        except TimeoutError:
            return


def _check_binding(function: FunctionDefinition) -> None:
    trigger = function.trigger
    problem = None
    if trigger.get("topicName"):
        problem = "Service Bus topics are not supported by this host; it has queues"
    elif trigger.get("isSessionsEnabled"):
        problem = "Service Bus sessions are not supported by this host"
    elif str(trigger.get("cardinality", "one")).lower() == "many":
        problem = "cardinality 'many' is not supported by this host; take one message at a time"
    elif not trigger.get("queueName"):
        problem = "the Service Bus trigger names no queue"
    if problem is not None:
        raise FunctionLoadError(function.name, problem)


def _address_of(function: FunctionDefinition, settings: AppSettings) -> QueueAddress:
    name = str(function.trigger.get("connection") or _DEFAULT_CONNECTION)
    try:
        connection_string = settings.connection_string(name)
        entity = parse_connection_string(connection_string).entity_path
    except StartError as error:
        raise FunctionLoadError(function.name, "; ".join(error.problems)) from None
    except ValueError as error:
        raise FunctionLoadError(
            function.name, f"connection {name!r}: no connection string ({error})"
        ) from None
    address = QueueAddress.parse(connection_string, str(function.trigger["queueName"]))
    if entity and entity.lower() != address.queue.lower():
        raise FunctionLoadError(
            function.name,
            f"connection {name!r}: the connection string is for the entity {entity!r}, not for the queue "
            f"{address.queue!r}",
        )
    return address


def _trace_of(properties: Mapping[str, Any]) -> TraceContext:
    parent = properties.get("traceparent") or properties.get("Diagnostic-Id")
    state = properties.get("tracestate")
    return child_trace(parent if isinstance(parent, str) else None, state if isinstance(state, str) else None)
