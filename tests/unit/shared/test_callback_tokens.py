"""The job token: only what this app issued under this secret is read, and only in its one spelling."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.callback_tokens import LENGTH, CallbackToken, issue, looks_issued, read_token

SECRET = b"an invented secret of enough length"
TOKEN = CallbackToken(
    job_id="job_" + "a2" * 13, release=3, expires_at=datetime(2026, 7, 29, 10, 15, tzinfo=UTC)
)


def test_a_token_is_read_back() -> None:
    text = issue(TOKEN, SECRET)
    assert len(text) == LENGTH
    assert read_token(text, SECRET) == TOKEN
    assert looks_issued(text)


@given(
    job_id=st.from_regex(r"job_[a-z2-7]{26}", fullmatch=True),
    release=st.integers(0, 2**31),
    seconds=st.integers(0, 10**9),
)
def test_every_token_is_read_back(job_id: str, release: int, seconds: int) -> None:
    token = CallbackToken(
        job_id=job_id, release=release, expires_at=TOKEN.expires_at + timedelta(seconds=seconds)
    )
    assert read_token(issue(token, SECRET), SECRET) == token


def test_another_secret_does_not_read_it() -> None:
    assert read_token(issue(TOKEN, SECRET), SECRET + b"!") is None


def test_no_changed_character_is_accepted() -> None:
    text = issue(TOKEN, SECRET)
    for place in range(len(text)):
        for other in "Aa-_9":
            changed = text[:place] + other + text[place + 1 :]
            assert changed == text or read_token(changed, SECRET) is None


def test_one_jobs_signature_is_no_other_jobs() -> None:
    raw = base64.urlsafe_b64decode(issue(TOKEN, SECRET) + "=")
    other = base64.urlsafe_b64decode(issue(replace(TOKEN, release=4), SECRET) + "=")
    mixed = base64.urlsafe_b64encode(other[:36] + raw[36:]).decode().rstrip("=")
    assert looks_issued(mixed)
    assert read_token(mixed, SECRET) is None


@pytest.mark.parametrize("form", ["{}=", "{}A", " {}", "{}\n", "{:.90}"])
def test_another_spelling_is_none(form: str) -> None:
    text = form.format(issue(TOKEN, SECRET))
    assert not looks_issued(text)
    assert read_token(text, SECRET) is None


@pytest.mark.fuzz
@given(text=st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]{91}", fullmatch=True))
def test_no_text_raises_or_is_taken_for_a_token(text: str) -> None:
    assert read_token(text, SECRET) is None


def test_a_token_is_for_a_jobs_id_only() -> None:
    with pytest.raises(ValueError, match="job"):
        issue(replace(TOKEN, job_id="msg_17"), SECRET)
