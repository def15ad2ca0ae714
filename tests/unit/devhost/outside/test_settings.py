"""Settings."""

import pytest

from devhost.outside.settings import SettingError, Settings


def test_settings_are_changed_by_name() -> None:
    changed = Settings().changed(
        {
            "find_lag_seconds": 2,
            "videos_honour_keys": True,
            "polls_queued": 0,
            "callback_secret": "whsec_c2VjcmV0",
        }
    )
    assert changed == Settings(
        find_lag_seconds=2, videos_honour_keys=True, polls_queued=0, callback_secret="whsec_c2VjcmV0"
    )
    assert changed.document()["find_lag_seconds"] == 2


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"colour": "red"}, "no setting 'colour'"),
        ({"find_lag_seconds": "2"}, "a number of seconds"),
        ({"find_lag_seconds": True}, "a number of seconds"),
        ({"polls_queued": 1.5}, "a whole number"),
        ({"polls_queued": -1}, "a whole number"),
        ({"videos_honour_keys": 1}, "true or false"),
        ({"video_callback_url": None}, "a text"),
        ({"callback_secret": "whsec_?"}, "base64"),
    ],
)
def test_what_cannot_be_set_is_refused(values: dict[str, object], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        Settings().changed(values)
