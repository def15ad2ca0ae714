"""Stands in for what makes queues in Azure: each test has a queue of the local broker, with its own policy.

Decorating a test names its queue; `QUEUES` then says what the broker's configuration must hold.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

SERVICEBUS_ENDPOINT_SUFFIX = f":{os.environ.get('LOCAL_BROKER_PORT', '0')}"
QUEUES: dict[str, dict[str, object]] = {}
"""The queues of the tests imported so far: name and properties."""

_numbers = itertools.count()
_Test = Callable[..., Any]


def CachedServiceBusResourceGroupPreparer(**_: Any) -> Callable[[_Test], _Test]:  # noqa: N802 - the SDK's name
    """There are no resource groups here."""
    return _passing()


def CachedServiceBusNamespacePreparer(**_: Any) -> Callable[[_Test], _Test]:  # noqa: N802 - the SDK's name
    """The broker is the namespace."""
    return _passing(
        servicebus_namespace=SimpleNamespace(name="127.0.0.1"),
        servicebus_namespace_connection_string=(
            f"Endpoint=sb://127.0.0.1{SERVICEBUS_ENDPOINT_SUFFIX};SharedAccessKeyName=RootManageSharedAccessKey;"
            "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
        ),
    )


def ServiceBusQueuePreparer(  # noqa: N802 - the SDK's name
    *,
    lock_duration: str = "PT30S",
    requires_duplicate_detection: bool = False,
    dead_lettering_on_message_expiration: bool = False,
    **_: Any,
) -> Callable[[_Test], _Test]:
    """A queue of the test's own. Modules are imported in one order: its name is the same in every process."""
    name = f"sdk-{next(_numbers)}"
    QUEUES[name] = {
        "LockDuration": lock_duration,
        "MaxDeliveryCount": 10,
        "RequiresDuplicateDetection": requires_duplicate_detection,
        "DeadLetteringOnMessageExpiration": dead_lettering_on_message_expiration,
    }
    return _passing(servicebus_queue=SimpleNamespace(name=name))


CachedServiceBusQueuePreparer = ServiceBusQueuePreparer


def _passing(**more: Any) -> Callable[[_Test], _Test]:
    """A decorator that gives a test more keyword arguments."""

    def decorate(test: _Test) -> _Test:
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def prepared(*args: Any, **kwargs: Any) -> Any:
                return await test(*args, **kwargs, **more)

        else:

            @functools.wraps(test)
            def prepared(*args: Any, **kwargs: Any) -> Any:
                return test(*args, **kwargs, **more)

        return prepared

    return decorate
