"""Every storage call goes through here: bounded in time, repeated once, and its errors put in our own words.

All calls of the adapters are safe to repeat (they are conditional, idempotent, or carry a token that tells
their own effect from another's), so a lost answer is simply asked for again. The SDK's own retries are off:
they never repeat a POST and would take minutes. No text of the SDK goes on from here, because it may hold
addresses, signatures and keys.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from enum import Enum, auto
from http.client import HTTPException
from typing import ClassVar, NoReturn, TypeVar

from aiohttp import ClientError
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from shared.errors import AfterhookError, StorageUnavailable

T = TypeVar("T")
logger = logging.getLogger("afterhook.storage")

CALL_SECONDS = 10.0
CONNECT_SECONDS = 3.0
READ_SECONDS = 4.0
_ATTEMPTS = 2
_PAUSE_SECONDS = 0.1
_AUTH = frozenset({401, 403})
_AWAY = frozenset({408, 429, 500, 502, 503, 504})
_AWAY_CODES = frozenset(
    {"TableBeingDeleted", "ContainerBeingDeleted", "AccountBeingCreated", "OperationTimedOut"}
)
_OK = 400  # a status below it that still became an error is an answer that could not be read


class StorageRefused(AfterhookError):
    """Storage refused a request that should have been right."""

    code: ClassVar[str] = "storage_refused"


class Answered(Exception):
    """An answer that the caller asked to see: HTTP status and storage error code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"status {status}, code {code or 'none'}")
        self.status = status
        self.code = code


class Verdict(Enum):
    """What an error of the SDK means."""

    ANSWERED = auto()
    AWAY = auto()
    NO_ACCESS = auto()


def judge(error: Exception) -> Verdict:
    """Whether storage answered, is away, or does not let us in. Pure."""
    if isinstance(error, ClientAuthenticationError):
        return Verdict.NO_ACCESS
    if not isinstance(error, HttpResponseError):
        return Verdict.AWAY
    status = error.status_code or 0
    if status in _AUTH:
        return Verdict.NO_ACCESS
    if status < _OK or status in _AWAY or _code(error) in _AWAY_CODES:
        return Verdict.AWAY
    return Verdict.ANSWERED


class StorageGuard:
    """Bounds and translates the calls to one service of the storage account."""

    def __init__(self, service: str, seconds: float = CALL_SECONDS) -> None:
        self._service = service
        self._seconds = seconds
        self._access_fault_told = False

    async def call(
        self, work: Callable[[], Awaitable[T]], *, expect: Collection[int] = (), seconds: float | None = None
    ) -> T:
        """The result of `work`, which may run twice.

        Raises StorageUnavailable; Answered for a status in `expect`; StorageRefused for any other.
        """
        try:
            async with asyncio.timeout(self._seconds if seconds is None else seconds):
                return await self._attempts(work, expect)
        except TimeoutError:
            raise StorageUnavailable(f"The {self._service} storage did not answer in time.") from None

    async def _attempts(self, work: Callable[[], Awaitable[T]], expect: Collection[int]) -> T:
        left = _ATTEMPTS
        while True:
            left -= 1
            try:
                return await work()
            except (AzureError, ClientError, HTTPException, OSError) as error:
                if left == 0 or judge(error) is not Verdict.AWAY:
                    self._raise(error, expect)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _raise(self, error: Exception, expect: Collection[int]) -> NoReturn:
        match judge(error):
            case Verdict.AWAY:
                raise StorageUnavailable(f"The {self._service} storage did not answer.") from None
            case Verdict.NO_ACCESS:
                self._tell_access_fault()
                raise StorageUnavailable(f"The {self._service} storage does not let this app in.") from None
            case Verdict.ANSWERED:
                assert isinstance(error, HttpResponseError)
                status, code = error.status_code or 0, _code(error)
                answer = Answered(status, code)
                self.check_expected(answer, expect)
                raise answer from None

    def check_expected(self, answer: Answered, expect: Collection[int]) -> None:
        """Raises StorageRefused for an answer whose status is not among the expected."""
        if answer.status not in expect:
            raise StorageRefused(f"The {self._service} storage refused a request: {answer}.") from None

    def _tell_access_fault(self) -> None:
        if not self._access_fault_told:
            self._access_fault_told = True
            logger.error(
                "The %s storage does not let this app in: check the AzureWebJobsStorage settings, and with "
                "a managed identity its role assignments.",
                self._service,
            )


def _code(error: HttpResponseError) -> str:
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")
