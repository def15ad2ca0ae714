"""One attempt at telling a receiver: secret, address, room, post; and what the answer means."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from shared.notify.announcement import Announcement
from shared.notify.posting import PostAnswer, PostFailed, WebhookPost
from shared.notify.receivers import Busy, Receivers, Resting
from shared.notify.signing import signed_headers, signing_keys
from shared.outbound.targets import TargetRefused, check_target
from shared.pipeline.policies import NotifyPolicy
from shared.ports import Clock
from shared.webhooks.base import UnusableSecret

log = logging.getLogger("afterhook.notify")
_OK = range(200, 300)
_REDIRECTS = range(300, 400)
_CLIENT_ERRORS = range(400, 500)
_GONE, _TIMED_OUT, _TOO_MANY = 410, 408, 429


@dataclass(frozen=True, slots=True)
class Told:
    """The receiver has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTold:
    """It has it not, or nobody knows; `code` says why, `for_good` that the receiver wants no more.

    `status` is the answer's HTTP status, if one came.
    """

    code: str
    status: int | None = None
    retry_after: timedelta | None = None
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class NoRoom:
    """Enough others are being told there: nothing was tried."""


Attempt = Told | NotTold | NoRoom


class Notifier(Protocol):
    async def tell(self, source: str, policy: NotifyPolicy, announcement: Announcement) -> Attempt:
        """Never raises for what the receiver or the configuration does."""
        ...


class SignedNotifier:
    """Notifier over a WebhookPost, with the secrets of `environ`."""

    def __init__(
        self,
        post: WebhookPost,
        clock: Clock,
        environ: Mapping[str, str],
        *,
        allowed_hosts: Collection[str],
        private_hosts: Collection[str],
    ) -> None:
        self._post = post
        self._clock = clock
        self._environ = environ
        self._allowed = tuple(allowed_hosts)
        self._private = tuple(private_hosts)
        self._receivers = Receivers()

    async def tell(self, source: str, policy: NotifyPolicy, announcement: Announcement) -> Attempt:
        try:
            keys = signing_keys(self._environ.get(policy.secret))
            check_target(policy.url, allowed=self._allowed, private=self._private)
        except UnusableSecret as unusable:
            log.warning("nobody is told of %s's jobs: setting %s: %s", source, policy.secret, unusable)
            return NotTold(code="secret_unusable")
        except TargetRefused as refused:
            return NotTold(code=refused.reason.value)
        now = self._clock.now()
        match self._receivers.enter(source, now):
            case Busy():
                return NoRoom()
            case Resting(until):
                return NotTold(code="receiver_resting", retry_after=until - now)
        return await self._told(source, policy.url, keys, announcement, now)

    async def _told(
        self, source: str, url: str, keys: tuple[bytes, ...], announcement: Announcement, now: datetime
    ) -> Attempt:
        body = announcement.body()
        headers = signed_headers(keys, announcement.webhook_id, now, body)
        well = False
        try:
            answer = await self._post.post(url, {"content-type": "application/json", **headers}, body)
            well = not _is_outage(answer.status)
        except PostFailed as failed:
            return NotTold(code=failed.reason)
        finally:
            self._receivers.left(source, self._clock.now(), well=well)
        return meaning(answer)


def meaning(answer: PostAnswer) -> Told | NotTold:
    """What an answer means. Any 2xx is taken; 410 says that the receiver wants no more of this."""
    if answer.status in _OK:
        return Told()
    if answer.status == _GONE:
        return NotTold(code="receiver_gone", status=answer.status, for_good=True)
    if answer.status in _REDIRECTS:
        return NotTold(code="redirected", status=answer.status)
    code = "refused" if answer.status in _CLIENT_ERRORS else "receiver_failed"
    return NotTold(code=code, status=answer.status, retry_after=answer.retry_after)


def _is_outage(status: int) -> bool:
    return status >= 500 or status in {_TIMED_OUT, _TOO_MANY}
