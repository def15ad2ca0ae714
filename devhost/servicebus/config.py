"""The broker's configuration: the JSON file of the official Service Bus emulator, checked whole.

The shape is ``UserConfig.Namespaces[].Queues[].Properties`` with ISO 8601 durations. Defaults and limits are
those of the Azure resource ``Microsoft.ServiceBus/namespaces/queues``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from devhost.servicebus.model import QueuePolicy

_FOR_EVER = timedelta(days=36500)


class ConfigError(ValueError):
    """The configuration cannot be used. A line for each problem: where, what was expected, what was found."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def _iso_text(value: object) -> object:
    if not isinstance(value, str) or not value.startswith("P"):
        raise ValueError("expected an ISO 8601 duration such as PT1M or P14D")
    return value


def _refused(sentence: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if value:
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


def _up_to(longest: timedelta) -> AfterValidator:
    def check(value: timedelta) -> timedelta:
        if not timedelta(0) < value <= longest:
            raise ValueError(f"expected a duration over zero and of at most {longest}")
        return value

    return AfterValidator(check)


_Duration = Annotated[timedelta, Field(strict=False), BeforeValidator(_iso_text)]
_Forward = Annotated[str, _refused("forwarding is not supported by the local broker: leave it empty")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Properties(_Strict):
    DeadLetteringOnMessageExpiration: bool = False
    DefaultMessageTimeToLive: Annotated[_Duration, _up_to(timedelta.max)] = timedelta.max
    DuplicateDetectionHistoryTimeWindow: Annotated[_Duration, _up_to(timedelta(days=7))] = timedelta(
        minutes=10
    )
    ForwardDeadLetteredMessagesTo: _Forward | None = None
    ForwardTo: _Forward | None = None
    LockDuration: Annotated[_Duration, _up_to(timedelta(minutes=5))] = timedelta(minutes=1)
    MaxDeliveryCount: Annotated[int, Field(ge=1, le=2000)] = 10
    RequiresDuplicateDetection: bool = False
    RequiresSession: Annotated[
        bool, _refused("sessions are not supported by the local broker: set it false")
    ] = False


class _Queue(_Strict):
    Name: Annotated[str, Field(max_length=260, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")]
    Properties: _Properties = _Properties()

    def policy(self) -> QueuePolicy:
        given = self.Properties
        endless = given.DefaultMessageTimeToLive > _FOR_EVER
        window = given.DuplicateDetectionHistoryTimeWindow.total_seconds()
        return QueuePolicy(
            name=self.Name,
            lock_seconds=given.LockDuration.total_seconds(),
            max_delivery_count=given.MaxDeliveryCount,
            default_ttl_ms=None if endless else round(given.DefaultMessageTimeToLive.total_seconds() * 1000),
            dead_letter_on_expiration=given.DeadLetteringOnMessageExpiration,
            duplicate_window_seconds=window if given.RequiresDuplicateDetection else None,
        )


class _Namespace(_Strict):
    Name: str
    Queues: Annotated[list[_Queue], Field(min_length=1)]
    Topics: Annotated[list[Any], _refused("topics are not supported by the local broker: use queues")] = []


class _User(_Strict):
    Namespaces: Annotated[list[_Namespace], Field(min_length=1, max_length=1)]
    Logging: dict[str, Any] = {}


class _File(_Strict):
    UserConfig: _User


def load_config(path: Path) -> list[QueuePolicy]:
    """The queues of the file. Raises ``ConfigError`` with every problem found."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: cannot be read: {error}"]) from error
    try:
        return parse_config(text)
    except ConfigError as error:
        raise ConfigError([f"{path}: {problem}" for problem in error.problems]) from None


def parse_config(text: str) -> list[QueuePolicy]:
    """The queues of the JSON text. Raises ``ConfigError`` with every problem found."""
    try:
        document = json.loads(text, object_pairs_hook=_object)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError([f"not JSON: {error}"]) from error
    try:
        queues = _File.model_validate(document).UserConfig.Namespaces[0].Queues
    except ValidationError as error:
        raise ConfigError(_sentences(error) + _repeated(document)) from None
    if problems := _repeated(document):
        raise ConfigError(problems)
    return [queue.policy() for queue in queues]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would keep the last of two properties with one name, without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ConfigError(
            [f"{name}: expected once in its object, found again" for name in found if names.count(name) > 1]
        )
    return found


def _sentences(error: ValidationError) -> list[str]:
    return [_sentence(problem) for problem in error.errors()]


def _sentence(problem: ErrorDetails) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(
        "."
    )
    match problem["type"]:
        case "missing":
            return f"{where}: expected, but missing"
        case "extra_forbidden":
            return f"{where}: not a property known here (a typing error?)"
        case "too_short":
            return f"{where}: expected at least one entry; found none"
        case "too_long" if isinstance(problem["input"], list):
            return f"{where}: expected one entry; found {len(problem['input'])}"
        case "string_pattern_mismatch":
            return (
                f"{where}: expected letters, digits and . _ - / with a letter or digit at both ends; "
                f"found {json.dumps(problem['input'])[:80]}"
            )
        case _:
            expected = problem["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
            if problem["type"] == "model_type":
                expected = "expected an object"
            found = json.dumps(problem["input"], default=str)
            return f"{where or 'document'}: {expected}; found {found[:80]}"


def _repeated(document: Any) -> list[str]:
    """Queues named twice, which would share their messages: found in whatever shape the document has."""
    try:
        names = [str(queue["Name"]) for queue in document["UserConfig"]["Namespaces"][0]["Queues"]]
    except (KeyError, IndexError, TypeError):
        return []
    lowered = [name.lower() for name in names]
    return [
        f"UserConfig.Namespaces[0].Queues[{at}].Name: expected a name of its own; found {name!r} again"
        for at, name in enumerate(names)
        if name.lower() in lowered[:at]
    ]
