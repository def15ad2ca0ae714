import pytest

from shared.documents import errors
from shared.errors import PermanentError, TransientError


def test_every_reason_is_permanent_and_has_a_code_of_its_own() -> None:
    assert set(errors.REASONS) == {
        "document_missing",
        "document_not_allowed",
        "unsupported_format",
        "document_encrypted",
        "document_has_no_text",
        "document_too_large",
        "document_unreadable",
        "document_took_too_long",
        "document_too_complex",
    }
    assert all(issubclass(reason, PermanentError) for reason in errors.REASONS.values())


@pytest.mark.parametrize("reason", errors.REASONS.values(), ids=str)
def test_every_reason_says_what_to_do(reason: type[errors.DocumentError]) -> None:
    message = str(reason())
    assert "resubmit" in message.lower()
    assert message.count(".") >= 2


def test_a_reader_that_went_away_is_transient() -> None:
    assert issubclass(errors.DocumentReaderUnavailable, TransientError)
