"""Errors that say what was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from azure.servicebus.exceptions import ServiceBusAuthenticationError


@contextmanager
def token_refused(why: str) -> Iterator[None]:
    """A token is refused; the SDK keeps the broker's words in the cause of its own error."""
    with pytest.raises(ServiceBusAuthenticationError) as caught:
        yield
    assert why in str(caught.value.inner_exception)
