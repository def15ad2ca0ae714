"""Twilio's message resource (https://www.twilio.com/docs/messaging/api/message-resource).

It takes no idempotency keys; what was sent is found by its receiver and day.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlencode

from devhost.outside.effects import Effects, Kind
from devhost.outside.messages import Answer, Call, Refused
from devhost.outside.routes import Route
from devhost.outside.settings import Settings

MOST_MESSAGES = 20_000
_MOST_BODY = 1_600
_MOST_PAGE = 1_000
_DAY_LENGTH = len("2030-01-31")
_ADDRESS = re.compile(r"(whatsapp:)?\+[1-9][0-9]{6,14}")
_ROOT = "/2010-04-01/Accounts/*"


class Messages:
    """All messages, in the order in which they were sent."""

    def __init__(self, effects: Effects, settings: Callable[[], Settings], new_id: Callable[[], str]) -> None:
        self._effects = effects
        self._settings = settings
        self._new_id = new_id
        self._messages: dict[str, tuple[float, dict[str, Any]]] = {}

    def routes(self) -> Iterator[Route]:
        """Send, list, and show one."""
        yield Route("POST", f"{_ROOT}/Messages.json", self._send, twilio_errors)
        yield Route("GET", f"{_ROOT}/Messages.json", self._list, twilio_errors)
        yield Route("GET", f"{_ROOT}/Messages/*", self._show, twilio_errors)

    def _send(self, call: Call, found: tuple[str, ...]) -> Answer:
        _check_signed_in(call)
        fields = {name: value for name, value in call.fields().items() if isinstance(value, str)}
        receiver, sender, body = fields.get("To", ""), fields.get("From", ""), fields.get("Body", "")
        if not receiver:
            raise Refused(400, 21604, "A 'To' phone number is required.")
        if not _ADDRESS.fullmatch(receiver):
            raise Refused(400, 21211, "Invalid 'To' phone number.")
        if not sender and not fields.get("MessagingServiceSid"):
            raise Refused(400, 21603, "A 'From' phone number is required.")
        if not body and not any(fields.get(name) for name in ("MediaUrl", "ContentSid")):
            raise Refused(400, 21602, "Message body is required.")
        if len(body) > _MOST_BODY:
            raise Refused(400, 21617, "The concatenated message body exceeds the 1600 character limit.")
        return self._effects.once(
            Kind.MESSAGE,
            call,
            lambda: self._keep(found[0], fields, call.at),
            request=fields,
            reference=receiver,
        )

    def _keep(self, account: str, fields: dict[str, str], at: float) -> Answer:
        if len(self._messages) >= MOST_MESSAGES:
            raise Refused(507, "full", f"There are {MOST_MESSAGES} messages: reset with DELETE /control.")
        sid = f"SM{self._new_id()}"
        when = format_datetime(datetime.fromtimestamp(int(at), UTC))
        uri = f"/2010-04-01/Accounts/{account}/Messages/{sid}.json"
        message: dict[str, Any] = {
            "sid": sid,
            "account_sid": account,
            "api_version": "2010-04-01",
            "to": fields["To"],
            "from": fields.get("From"),
            "messaging_service_sid": fields.get("MessagingServiceSid"),
            "body": fields.get("Body", ""),
            "status": "queued",
            "direction": "outbound-api",
            "num_segments": "1",
            "num_media": "1" if fields.get("MediaUrl") else "0",
            "date_created": when,
            "date_updated": when,
            "date_sent": None,
            "price": None,
            "price_unit": "USD",
            "error_code": None,
            "error_message": None,
            "uri": uri,
            "subresource_uris": {"media": uri.replace(".json", "/Media.json")},
        }
        self._messages[sid] = (at, message)
        return Answer.json(message, 201)

    def _list(self, call: Call, found: tuple[str, ...]) -> Answer:
        _check_signed_in(call)
        until = call.at - self._settings().find_lag_seconds
        page, size = _number(call, "Page", 0, 0), _number(call, "PageSize", 50, 1)
        chosen = [
            _sent(message, at)
            for at, message in reversed(self._messages.values())
            if message["account_sid"] == found[0] and at <= until and _is_wanted(call, message, at)
        ]
        shown = chosen[page * size : (page + 1) * size]
        has_more = len(chosen) > (page + 1) * size
        return Answer.json(
            {
                "messages": shown,
                "page": page,
                "page_size": size,
                "uri": call.path,
                "first_page_uri": _page_uri(call, 0, size),
                "next_page_uri": _page_uri(call, page + 1, size) if has_more else None,
                "previous_page_uri": _page_uri(call, page - 1, size) if page else None,
                "start": page * size,
                "end": page * size + len(shown) - 1,
            }
        )

    def _show(self, call: Call, found: tuple[str, ...]) -> Answer:
        _check_signed_in(call)
        at, message = self._messages.get(found[1].removesuffix(".json"), (0.0, None))
        if message is None or message["account_sid"] != found[0]:
            raise Refused(404, 20404, "The requested resource was not found.")
        return Answer.json(_sent(message, at))


def twilio_errors(refused: Refused) -> object:
    """As Twilio says them (https://www.twilio.com/docs/usage/twilios-response#errors-and-exceptions)."""
    usual = {429: 20429, 401: 20003, 404: 20404}.get(refused.status, 20500)
    code = int(refused.code) if str(refused.code).isdecimal() else usual
    return {
        "code": code,
        "message": refused.message,
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": refused.status,
    }


def _check_signed_in(call: Call) -> None:
    if not call.headers.get("authorization", "").lower().startswith("basic "):
        raise Refused(401, 20003, "Authenticate")


def _sent(message: dict[str, Any], at: float) -> dict[str, Any]:
    when = format_datetime(datetime.fromtimestamp(int(at), UTC))
    return {**message, "status": "delivered", "date_sent": when}


def _is_wanted(call: Call, message: dict[str, Any], at: float) -> bool:
    for name, shown in (("To", "to"), ("From", "from")):
        if name in call.query and call.query[name] != message[shown]:
            return False
    on, before, since = (_days(call, name) for name in ("DateSent", "DateSent<", "DateSent>"))
    if on is not None and not on[0] <= at < on[1]:
        return False
    return (before is None or at < before[1]) and (since is None or at >= since[0])


def _days(call: Call, name: str) -> tuple[float, float] | None:
    """When the day that is named begins and ends. A bound may be a moment; what is named alone is a day."""
    text = call.query.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise Refused(400, 20001, f"{name} is a day such as 2030-01-31, or a moment of it.") from error
    if name == "DateSent":
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    begin = moment.timestamp()
    is_day = name == "DateSent" or len(text) == _DAY_LENGTH
    return begin, begin + (86_400 if is_day else 1)


def _number(call: Call, name: str, default: int, low: int) -> int:
    text = call.query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and low <= int(text) <= _MOST_PAGE):
        raise Refused(400, 20001, f"{name} is a number from {low} to {_MOST_PAGE}.")
    return int(text)


def _page_uri(call: Call, page: int, size: int) -> str:
    return f"{call.path}?{urlencode({**call.query, 'Page': page, 'PageSize': size})}"
