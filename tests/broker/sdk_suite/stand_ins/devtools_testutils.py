"""Stands in for the SDK's development tools, of which its queue tests need a credential alone."""

from __future__ import annotations

from typing import Any, TypeVar

from azure.servicebus._base_handler import ServiceBusSharedKeyCredential
from azure.servicebus.aio._base_handler_async import ServiceBusSharedKeyCredential as AsyncCredential

T = TypeVar("T")
_KEY = ("RootManageSharedAccessKey", "SAS_KEY_VALUE")


class AzureMgmtRecordedTestCase:
    """Records nothing."""


class AzureRecordedTestCase:
    """Records nothing."""

    @staticmethod
    def await_prepared_test(test: T) -> T:
        """The tests run as coroutines already."""
        return test


def get_credential(*, is_async: bool = False, **_: Any) -> ServiceBusSharedKeyCredential | AsyncCredential:
    """The key of the local broker."""
    return AsyncCredential(*_KEY) if is_async else ServiceBusSharedKeyCredential(*_KEY)
