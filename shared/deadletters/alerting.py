"""Telling people that a kind of failure appeared: once a kind, with nothing private in it."""

from shared.deadletters.ports import Alert, Group
from shared.errors import AfterhookError
from shared.services import Services


async def alert(services: Services, group: Group) -> None:
    """Send the group's alert and record that it was sent.

    A sink that is away costs the alert nothing but time: the sweep sends what is not confirmed.
    """
    base = services.settings.public_base_url
    link = f"{base.rstrip('/')}/api/dead-letters?fingerprint={group.fingerprint}" if base else None
    telling = Alert(
        fingerprint=group.fingerprint,
        task_type=group.task_type,
        code=group.code,
        category=group.category,
        count=group.count,
        link=link,
    )
    try:
        await services.alerts.notify(telling)
    except AfterhookError:
        services.telemetry.count("alerts_failed", code=group.code)
        return
    await services.groups.mark_alerted(group.fingerprint)
    services.telemetry.count("alerts_sent", code=group.code)
