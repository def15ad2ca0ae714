"""From a raw request to events that are the sender's own."""

import asyncio
from collections.abc import Sequence
from typing import Any

from shared.pipeline import SourcePolicy
from shared.ports import Clock, Telemetry
from shared.webhooks import verification
from shared.webhooks.base import Jwk, Reply, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.large_bodies import aside
from shared.webhooks.registry import scheme_named
from shared.webhooks.rejections import BodyTooLarge, LengthRequired, MethodNotAllowed, UnknownSigningKey
from shared.webhooks.secrets import KeysUnavailable, SourceKeys, SourceSecrets


class Gate:
    """Lets in what a source's sender signed, and answers its handshakes."""

    def __init__(
        self, secrets: SourceSecrets, directory: KeyDirectory, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._secrets = secrets
        self._directory = directory
        self._clock = clock
        self._telemetry = telemetry

    async def admit(
        self, policy: SourcePolicy, request: WebhookRequest, until: float | None = None
    ) -> Reply | Sequence[WebhookEvent]:
        """The events of a verified request, or the answer to a handshake; by `until`, in the loop's time.

        Raises WebhookRejected (the sender's fault), SourceNotConfigured or Overloaded (ours).
        """
        scheme = scheme_named(policy.scheme)
        if request.method != "POST":
            return self._greet(scheme, policy, request)
        check_size(policy, request)
        verified, trust = await self._verify(scheme, policy, request, until)
        self._telemetry.count("webhooks_verified", source=policy.name, secret=_setting(policy, verified))
        return await aside(request.body, lambda: scheme.read(request, trust), until)

    def _greet(self, scheme: Scheme[Any], policy: SourcePolicy, request: WebhookRequest) -> Reply:
        if request.method in scheme.methods:
            keys = self._secrets.keys_of(policy)
            reply = verification.greet(scheme, request, keys, self._trust(policy))
            if reply is not None:
                return reply
        raise MethodNotAllowed(scheme.methods)

    async def _verify(
        self, scheme: Scheme[Any], policy: SourcePolicy, request: WebhookRequest, until: float | None
    ) -> tuple[Verified, Trust[Any]]:
        """With published keys in three steps: without them, with the known ones, with the newest.

        What is refused whatever the keys are makes nobody fetch them, and is a 401 also while they cannot
        be had. A key that is not among the known ones may be new: only keys read since the request came can
        say that it is nobody's.
        """
        keys, address = self._secrets.keys_of(policy), scheme.key_set(policy.options)
        trust = self._trust(policy)
        read_before = 0 if address is None else self._directory.readings(address)
        for after in (0, read_before):
            try:
                return await _verified(scheme, request, keys, trust, until), trust
            except UnknownSigningKey:
                if address is None:
                    raise
                trust = self._trust(policy, await self._published(address, after, until))
        return await _verified(scheme, request, keys, trust, until), trust

    async def _published(self, address: str, after: int, until: float | None) -> Sequence[Jwk]:
        try:
            async with asyncio.timeout_at(until):
                return await self._directory.keys(address, after=after)
        except TimeoutError:
            raise KeysUnavailable from None

    def _trust(self, policy: SourcePolicy, published: Sequence[Jwk] = ()) -> Trust[Any]:
        return Trust(
            options=policy.options,
            now=self._clock.now(),
            tolerance=policy.tolerance,
            published=published,
        )


async def _verified(
    scheme: Scheme[Any], request: WebhookRequest, keys: SourceKeys, trust: Trust[Any], until: float | None
) -> Verified:
    return await aside(request.body, lambda: verification.verify(scheme, request, keys, trust), until)


def _setting(policy: SourcePolicy, verified: Verified) -> str:
    """The name of the setting that holds the secret which verified."""
    if verified.named is not None:
        return policy.options.named_secrets()[verified.named]
    return "none" if verified.secret_index is None else policy.secrets[verified.secret_index]


def check_size(policy: SourcePolicy, request: WebhookRequest) -> None:
    """Raises LengthRequired or BodyTooLarge.

    The platform hands over a body only with a Content-Length; a chunked one arrives empty."""
    length = request.headers.get("content-length", "").strip()
    if not (length.isascii() and length.isdigit()):
        raise LengthRequired
    if len(request.body) > policy.max_body or int(length[:20]) > policy.max_body:
        raise BodyTooLarge(f"The body is over this source's limit of {policy.max_body:,} bytes.")
