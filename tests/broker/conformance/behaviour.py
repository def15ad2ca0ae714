"""A behaviour of Service Bus: written once, run with each SDK."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.broker.conformance.sdk import Sdk, Service
from tests.broker.together import LEAKY, Together, describe

Body = Callable[[Service], Coroutine[Any, Any, None]]


def behaviour_of(*sdks: Sdk) -> Callable[[Body], Callable[..., None]]:
    """Makes a test for each SDK of a coroutine that takes the module's broker as that SDK shows it."""

    def decorate(body: Body) -> Callable[..., None]:
        @pytest.mark.broker
        @LEAKY
        @pytest.mark.parametrize("sdk", sdks)
        def test(together: Together, request: pytest.FixtureRequest, sdk: Sdk) -> None:
            together.result(request.node.nodeid)

        describe(
            test, body, lambda broker, item: body(Service(broker, Sdk(str(item.callspec.params["sdk"]))))
        )
        test.sdks = sdks  # type: ignore[attr-defined]  # read by the table of behaviours
        return test

    return decorate


behaviour = behaviour_of(*Sdk)
"""A behaviour that both show."""
