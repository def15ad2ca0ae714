"""Which ids stay as they are, and what becomes of the others."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.pseudonyms import (
    KEY_SETTING,
    PseudonymKeyMissing,
    event_pseudonym,
    looks_personal,
    user_pseudonym,
)

KEY = b"an invented key of the tests"

PERSONAL = [
    "ada@example.com",
    "mailto:ada%40example.com",
    "ada\uff20example.com",
    "+442079460000",
    "whatsapp:+442079460000",
    "%2B442079460000",
    "+44 (0)20 7946-0000",
    "\uff0b\uff14\uff14\uff12\uff10\uff17\uff19\uff14\uff16",
    "wamid.HBgLNDQyMDc5NDYwMDAwFQIAEhgg",
    "status:WAMID.HBgL",
]
IMPERSONAL = [
    "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    "evt_1MqqbKLt4dXK03v5qaIbiNCC",
    "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
    "583231",
    "12345678901234567890",
    "user-204",
    "a+b",
    "+123456",
]


@pytest.mark.parametrize("value", PERSONAL)
def test_personal_ids_are_recognised_and_replaced(value: str) -> None:
    assert looks_personal(value)
    replaced = event_pseudonym(value, KEY)
    assert replaced.startswith("h_")
    assert replaced == event_pseudonym(value, KEY) != event_pseudonym(value, b"another key")
    assert user_pseudonym(value, KEY) not in {None, value, replaced}


@pytest.mark.parametrize("value", IMPERSONAL)
def test_other_ids_stay_as_they_are(value: str) -> None:
    assert not looks_personal(value)
    assert event_pseudonym(value, KEY) == value
    assert user_pseudonym(value, None) == value


@pytest.mark.parametrize("value", ["Ada Lovelace", "Zoë", "a\nb", "x" * 129, "\ud800", "\x7f"])
def test_ids_that_are_unfit_to_store_are_replaced_too(value: str) -> None:
    assert event_pseudonym(value, KEY).startswith("h_")


@pytest.mark.parametrize("value", [*PERSONAL, "Ada Lovelace"])
def test_without_a_key_no_person_becomes_nobody_and_the_log_names_the_setting(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert event_pseudonym(value, None) == ""
    with caplog.at_level(logging.ERROR), pytest.raises(PseudonymKeyMissing) as caught:
        user_pseudonym(value, None)
    (record,) = caplog.records
    assert KEY_SETTING in record.getMessage()
    assert value not in record.getMessage() + str(caught.value)


def test_nobody_stays_nobody_and_an_empty_account_stays_empty() -> None:
    assert user_pseudonym(None, KEY) is None
    assert event_pseudonym("", KEY) == ""


@given(st.text(st.characters(exclude_categories=[])))
def test_every_id_becomes_short_printable_ascii(value: str) -> None:
    replaced = event_pseudonym(value, KEY)
    assert replaced.isascii()
    assert replaced.isprintable()
    assert len(replaced) <= 128
    assert event_pseudonym(replaced, KEY) == replaced


@pytest.mark.parametrize(
    "value",
    [
        "16505551234",
        "4420794600",
        "1234567",
        "user-16505551234",
        "020-7946-0000",
        "(020)7946.0000",
        "020%207946%200000",
        "%31%36%35%30%35%35%35",
    ],
)
def test_where_people_are_numbers_any_long_number_is_one_of_them(value: str) -> None:
    replaced = user_pseudonym(value, KEY, numbers=True)
    assert replaced is not None
    assert replaced.startswith("h_")
    assert value not in replaced
    with pytest.raises(PseudonymKeyMissing):
        user_pseudonym(value, None, numbers=True)
    assert user_pseudonym(value, KEY) == value


@pytest.mark.parametrize("value", ["123456", "user-204", "u1v2w3x4y5z6a7"])
def test_where_people_are_numbers_other_ids_still_stay(value: str) -> None:
    assert user_pseudonym(value, KEY, numbers=True) == value
