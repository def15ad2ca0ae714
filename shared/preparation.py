"""From a verified event to the job that it starts, and what is stored beside it.

Nobody's personal id is in a job: it holds keyed hashes in their place.
"""

import hashlib
from collections.abc import Mapping

from shared.inputs import PlacedInput, may_use, place_input, store_new_inputs
from shared.jobs import Job, job_id_for
from shared.pipeline import Route, SourcePolicy, Users
from shared.ports import Row
from shared.services import Services
from shared.webhooks.base import WebhookEvent
from shared.webhooks.ed25519 import PublicKey
from shared.webhooks.large_bodies import aside
from shared.webhooks.parsing import JSON
from shared.webhooks.pseudonyms import event_pseudonym, user_pseudonym
from shared.webhooks.registry import scheme_named
from shared.webhooks.routing import Extraction, extract
from shared.webhooks.secrets import SourceSecrets


class Preparer:
    """Makes jobs of the events of all configured sources."""

    def __init__(self, services: Services, secrets: SourceSecrets) -> None:
        self._services = services
        self._secrets = secrets

    async def prepare(
        self, policy: SourcePolicy, route: Route, event: WebhookEvent, headers: Mapping[str, str]
    ) -> tuple[Job, list[Row]]:
        """The job as it will be inserted, its rows, and (stored already) the blob of a large input.

        `headers` are those of the request. Raises PseudonymKeyMissing or StorageUnavailable.
        """
        services, now = self._services, self._services.clock.now()
        job_id = job_id_for(policy.name, event.account, event.event_id)
        found, places, digest = await aside(event.raw, lambda: _read(policy, route, event, job_id))
        key = self._pseudonym_key(policy)
        start = now if route.delay is None else now + route.delay
        job = Job(
            job_id=job_id,
            source=policy.name,
            account=event_pseudonym(event.account, key),
            event_id=event_pseudonym(event.event_id, key),
            event_type=event.event_type,
            task_type=route.task,
            user_id=user_pseudonym(found.user_id, key, numbers=_users_are_numbers(policy)),
            body_sha256=digest,
            input_ref=places[0].ref if places else found.input_ref,
            traceparent=traceparent(headers),
            created_at=now,
            updated_at=now,
            released_at=start,
            not_before=None if route.delay is None else start,
            event_time=event.event_time,
        )
        note = found.problem
        if note is not None:  # a person needs what was sent
            places.append(place_input(job_id, event.raw, JSON))
            note = f"{note} The event is kept as {places[0].ref}."
        elif job.input_ref is not None and not may_use(services, job, job.input_ref):
            note = "The document lies outside what the source may read (allowed_inputs)."
        elif found.kept is not None:
            kept = place_input(job_id, found.kept, JSON)
            note = f"Kept of the event: {kept.ref}."
            if kept.ref != job.input_ref:  # one row cannot be written twice at once
                places.append(kept)
        rows = [services.timeline(job, "accepted", at=now, note=note)]
        await store_new_inputs(services, job_id, places)
        return job, rows + [placed.row for placed in places if placed.row]

    def _pseudonym_key(self, policy: SourcePolicy) -> bytes | None:
        """The configured key; else the source's current secret, which changes when it is rotated.

        A sender's public key is no secret: with it anybody could undo the hash.
        """
        configured = self._services.settings.pseudonym_key
        if configured is not None:
            return configured.get_secret_value().encode()
        keys = self._secrets.keys_of(policy).keys
        return next((key for key in keys if not isinstance(key, PublicKey)), None)


def _users_are_numbers(policy: SourcePolicy) -> bool:
    return policy.users is Users.NUMBERS or scheme_named(policy.scheme).users_are_numbers


def _read(
    policy: SourcePolicy, route: Route, event: WebhookEvent, job_id: str
) -> tuple[Extraction, list[PlacedInput], str]:
    """What the route takes from the event, where an input of it will lie, and the hash of the event."""
    found = extract(route, event)
    places = [] if found.input is None else [place_input(job_id, found.input, found.content_type)]
    digest = hashlib.sha256()
    for part in scheme_named(policy.scheme).lasting(event):
        digest.update(part)
    return found, places, digest.hexdigest()


def traceparent(headers: Mapping[str, str]) -> str | None:
    """The caller's W3C trace context, if it has the standard's form."""
    value = headers.get("traceparent", "")
    parts = value.split("-")
    lengths = [len(part) for part in parts]
    hexadecimal = all(character in "0123456789abcdef-" for character in value)
    return value if lengths == [2, 32, 16, 2] and hexadecimal else None
