"""Errors as answers, and what the log says of them."""

import json

import pytest

from shared.errors import AfterhookError, QueueUnavailable, StorageUnavailable
from shared.http.exchange import HttpAnswer, answered


@pytest.mark.parametrize(
    "error", [StorageUnavailable("The table storage did not answer."), QueueUnavailable("The bus is full.")]
)
async def test_an_outage_that_a_caller_sees_leaves_one_warning(
    error: AfterhookError, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler() -> HttpAnswer:
        raise error

    answer = await answered(handler)

    assert (answer.status, json.loads(answer.body)["code"]) == (503, error.code)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert (error.code in record.getMessage(), str(error) in record.getMessage()) == (True, True)
    assert record.exc_info is None
