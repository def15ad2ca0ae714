"""Slack: HMAC-SHA256 of version, time and raw body in `X-Slack-Signature`.

Events API (JSON), slash commands and interactivity (forms).
Sources: https://docs.slack.dev/authentication/verifying-requests-from-slack/ and
https://docs.slack.dev/apis/events-api/
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from shared.printable import clean_text
from shared.webhooks.base import Options, Reply, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import (
    FORM,
    form_fields,
    media_type,
    own_json,
    parse_object,
    require_identity_encoding,
    require_json,
    text_of,
)
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import hmac_sha256, matching_key, refuse_kinds, text_key
from shared.webhooks.times import unix_time

_TIME = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_OTHER_KINDS = {"xox": "a token", "xapp-": "a token", "xwfp-": "a token"}
_TAKEN = Reply(status=200, content_type="text/plain; charset=utf-8")


class Slack(Scheme[Options]):
    """The key is the text of the app's signing secret."""

    name: ClassVar[str] = "slack"
    answer_within: ClassVar[float] = 2.5  # Slack waits three

    def load_key(self, secret: str, options: Options) -> bytes:  # noqa: ARG002  the scheme's interface
        refuse_kinds(secret, _OTHER_KINDS, "the app's signing secret")
        return text_key(secret)

    def signs_time(self, options: Options) -> bool:  # noqa: ARG002  always
        return True

    def answer(self, request: WebhookRequest) -> Reply | None:
        """Slack shows the answer to a command or a click to its user: an empty one shows nothing."""
        return _TAKEN if media_type(request) == FORM else None

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        time = request.headers.get("x-slack-request-timestamp", "")
        given = request.headers.get("x-slack-signature", "")
        if not given or not _TIME.fullmatch(time):
            raise BadSignature("X-Slack-Signature is missing, or X-Slack-Request-Timestamp not a time.")
        signed = (b"v0:", time.encode(), b":", request.body)
        index = matching_key(
            trust.keys,
            [given.encode("utf-8", "surrogatepass")],
            lambda key: b"v0=" + hmac_sha256(key, *signed).hex().encode(),
        )
        if index is None:
            raise BadSignature("X-Slack-Signature does not match time and body. Compare the signing secret.")
        check_freshness(int(time), trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> Reply | tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_identity_encoding(request)
        if media_type(request) == FORM:
            return _form_event(request)
        require_json(request)
        payload = parse_object(request.body)
        if payload.get("type") == "url_verification":
            challenge = text_of(payload, "challenge").encode()
            return Reply(status=200, body=challenge, content_type="text/plain; charset=utf-8")
        return (_event(payload, request.body),)


def _event(payload: Mapping[str, Any], raw: bytes) -> WebhookEvent:
    """`message.channel_join`: the inner event and its subtype; outer types without one are their own."""
    inner = payload.get("event")
    if payload.get("type") != "event_callback":
        kind, event_id = text_of(payload, "type"), body_id(raw)
    elif isinstance(inner, dict):
        subtype = inner.get("subtype")
        kind = text_of(inner, "type") + (f".{subtype}" if isinstance(subtype, str) else "")
        event_id = text_of(payload, "event_id")
    else:
        raise MalformedBody("`event` in the body is missing or not an object.")
    return WebhookEvent(
        event_id=event_id,
        event_type=event_label(kind),
        account=_account(payload.get("team_id"), payload.get("api_app_id")),
        event_time=unix_time(payload.get("event_time")),
        payload=payload,
        raw=raw,
    )


def _form_event(request: WebhookRequest) -> Reply | tuple[WebhookEvent, ...]:
    """A click (`payload` holds its JSON), a slash command, or the probe of our certificate."""
    given = form_fields(request.body)
    fields = dict(given)
    if len(fields) != len(given):
        raise MalformedBody("The form has a field twice.")
    if fields.get("ssl_check") == "1":
        return _TAKEN
    if "payload" in fields:
        raw = fields["payload"].encode()
        payload = parse_object(raw)
        team = payload.get("team")
        account = _account(team.get("id") if isinstance(team, dict) else None, payload.get("api_app_id"))
        kind, trigger = text_of(payload, "type"), payload.get("trigger_id")
    else:
        raw, payload = own_json(fields), fields
        account = _account(fields.get("team_id"), fields.get("api_app_id"))
        kind, trigger = f"command.{text_of(fields, 'command').lstrip('/')}", fields.get("trigger_id")
    return (
        WebhookEvent(
            event_id=clean_text(trigger) if isinstance(trigger, str) and trigger else body_id(request.body),
            event_type=event_label(kind),
            account=account,
            event_time=None,
            payload=payload,
            raw=raw,
        ),
    )


def _account(team: object, app: object) -> str:
    return clean_text(":".join(part if isinstance(part, str) else "" for part in (team, app)))
