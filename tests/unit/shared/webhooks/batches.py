"""WhatsApp's batches as Meta sends them; people, numbers and ids are invented."""

import base64
from collections.abc import Sequence
from typing import Any

WABA = "102290129340398"
PHONE_NUMBER_ID = "106540352242922"
AT = "1785147300"


def number_of(person: int) -> str:
    """A telephone number as WhatsApp writes it: without a plus."""
    return f"4420794{person:05d}"


def wamid(person: int) -> str:
    """A message's id, which holds the number of the other side."""
    encoded = base64.b64encode(f"\x1d\x0b{number_of(person)}\x15\x02".encode()).decode()
    return f"wamid.{encoded}"


def message(person: int, **more: Any) -> dict[str, Any]:
    return {
        "from": number_of(person),
        "id": wamid(person),
        "timestamp": AT,
        "type": "text",
        "text": {"body": f"Hello {person}"},
    } | more


def status(person: int, name: str = "delivered", **more: Any) -> dict[str, Any]:
    found = {"id": wamid(person), "status": name, "timestamp": AT, "recipient_id": number_of(person)}
    return found | more


def whatsapp(messages: Sequence[Any], statuses: Sequence[Any] = ()) -> dict[str, Any]:
    """One body with all of them in one change, and the contact of each message's author."""
    value: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": number_of(0), "phone_number_id": PHONE_NUMBER_ID},
    }
    if messages:
        value["contacts"] = [
            {"wa_id": found["from"], "profile": {"name": f"Person {int(found['from'][-5:])}"}}
            for found in messages
            if isinstance(found.get("from"), str) and found["from"][-5:].isdigit()
        ]
        value["messages"] = list(messages)
    if statuses:
        value["statuses"] = list(statuses)
    change = {"field": "messages", "value": value}
    return {"object": "whatsapp_business_account", "entry": [{"id": WABA, "changes": [change]}]}
