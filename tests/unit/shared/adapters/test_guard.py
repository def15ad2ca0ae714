"""What an error of the storage SDK means, and what the guard does with it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import ClientPayloadError
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    ResourceExistsError,
    ServiceRequestError,
    ServiceResponseError,
)

from shared.adapters.guard import Answered, StorageGuard, StorageRefused, Verdict, judge
from shared.errors import StorageUnavailable

_SECRET = "https://docs.table.core.windows.net/?sig=secret"


def _http(status: int, code: str = "", kind: type[HttpResponseError] = HttpResponseError) -> Exception:
    error = kind(_SECRET)
    error.status_code = status
    vars(error)["error_code"] = code  # as the SDK does, on the instance
    return error


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ServiceRequestError("x"), Verdict.AWAY),
        (ServiceResponseError("x"), Verdict.AWAY),
        (AzureError("x"), Verdict.AWAY),
        (OSError("x"), Verdict.AWAY),
        (TimeoutError(), Verdict.AWAY),
        (ClientPayloadError("x"), Verdict.AWAY),
        (DecodeError("x"), Verdict.AWAY),
        *((_http(status), Verdict.AWAY) for status in (200, 408, 429, 500, 502, 503, 504)),
        (_http(409, "TableBeingDeleted"), Verdict.AWAY),
        (_http(409, "ContainerBeingDeleted"), Verdict.AWAY),
        (_http(401), Verdict.NO_ACCESS),
        (_http(403, "AuthorizationFailure"), Verdict.NO_ACCESS),
        (ClientAuthenticationError("no token"), Verdict.NO_ACCESS),
        (_http(400, "InvalidInput"), Verdict.ANSWERED),
        (_http(404, "TableNotFound"), Verdict.ANSWERED),
        (_http(409, "EntityAlreadyExists", ResourceExistsError), Verdict.ANSWERED),
        (_http(412), Verdict.ANSWERED),
        (_http(413), Verdict.ANSWERED),
    ],
)
def test_an_error_is_judged_by_what_it_says_of_the_storage(error: Exception, verdict: Verdict) -> None:
    assert judge(error) is verdict


def _failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[Exception]]:
    """Work that raises the errors one after the other and then succeeds; and the list of what is left."""
    left = list(errors)

    async def work() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return work, left


async def test_a_call_that_fails_once_is_repeated() -> None:
    work, left = _failing(ServiceRequestError("x"))
    assert await StorageGuard("table").call(work) == "done"
    assert left == []


async def test_a_call_that_fails_twice_is_unavailable() -> None:
    work, left = _failing(ServiceRequestError(_SECRET), _http(503), _http(503))
    with pytest.raises(StorageUnavailable) as caught:
        await StorageGuard("table").call(work)
    assert len(left) == 1
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_an_expected_answer_is_handed_on_and_not_repeated() -> None:
    work, left = _failing(_http(409, "EntityAlreadyExists"), _http(409))
    with pytest.raises(Answered) as caught:
        await StorageGuard("table").call(work, expect={409})
    assert (caught.value.status, caught.value.code) == (409, "EntityAlreadyExists")
    assert len(left) == 1


async def test_an_unexpected_answer_is_refused_in_our_own_words() -> None:
    work, _ = _failing(_http(400, "InvalidInput"))
    with pytest.raises(StorageRefused) as caught:
        await StorageGuard("table").call(work, expect={404})
    assert str(caught.value) == "The table storage refused a request: status 400, code InvalidInput."
    assert caught.value.__suppress_context__


async def test_an_access_fault_is_not_repeated_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    guard = StorageGuard("blob")
    for _ in range(2):
        work, left = _failing(_http(403), _http(403))
        with pytest.raises(StorageUnavailable, match="let this app in"):
            await guard.call(work)
        assert len(left) == 1
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


async def test_a_call_without_an_answer_ends_at_the_bound() -> None:
    with pytest.raises(StorageUnavailable, match="in time"):
        await StorageGuard("table", seconds=0.01).call(lambda: asyncio.Event().wait())


async def test_our_own_mistakes_are_not_taken_for_outages() -> None:
    work, _ = _failing(KeyError("mistake"))
    with pytest.raises(KeyError):
        await StorageGuard("table").call(work)
