"""How the outside behaves where no script says otherwise."""

import base64
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST_SECONDS = 10 * 365 * 86_400.0
_MOST_POLLS = 1_000_000


class SettingError(ValueError):
    """A setting that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of them, with their defaults.

    `key_window_seconds`: how long an idempotency key is remembered. `videos_honour_keys`: whether creating
    a video takes one. `find_lag_seconds`: after how long what happened is found by looking it up.
    `polls_queued`, `polls_in_progress`: how many times a video's status says so before it is completed.
    `video_callback_url`: told of every video that ends, besides the `callback_url` of its creation.
    `callback_secret`: `whsec_...`, with which callbacks are signed. `post_tries`: how often a callback is
    sent until it is taken, `post_pause_seconds` apart, each pause twice the one before.
    """

    key_window_seconds: float = 86_400.0
    videos_honour_keys: bool = False
    find_lag_seconds: float = 0.0
    polls_queued: int = 1
    polls_in_progress: int = 1
    video_callback_url: str = ""
    callback_secret: str = ""
    post_tries: int = 5
    post_pause_seconds: float = 0.2

    def document(self) -> dict[str, Any]:
        """As JSON-able data."""
        return dataclasses.asdict(self)

    def changed(self, values: Mapping[str, Any]) -> "Settings":
        """The same with these values. Raises SettingError."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, value in values.items():
            if name not in defaults:
                raise SettingError(f"there is no setting {name!r}; there are {', '.join(defaults)}")
            _check(name, value, defaults[name])
        _check_secret(str(values.get("callback_secret", "")))
        return dataclasses.replace(self, **values)


def _check(name: str, value: object, default: object) -> None:
    match default:
        case bool():
            good, wanted = isinstance(value, bool), "true or false"
        case str():
            good, wanted = isinstance(value, str), "a text"
        case int():
            good, wanted = (
                isinstance(value, int) and _is_within(value, _MOST_POLLS),
                f"a whole number to {_MOST_POLLS}",
            )
        case _:
            good = isinstance(value, int | float) and _is_within(value, _MOST_SECONDS)
            wanted = f"a number of seconds to {_MOST_SECONDS:g}"
    if not good:
        raise SettingError(f"{name} is {wanted}, not {value!r}")


def _is_within(value: float, most: float) -> bool:
    return not isinstance(value, bool) and 0 <= value <= most


def _check_secret(secret: str) -> None:
    try:
        base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError as error:
        raise SettingError("callback_secret is whsec_ and base64") from error
