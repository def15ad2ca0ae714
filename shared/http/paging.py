"""What the lists' queries have in common: how much to show, and from where."""

import re

from shared.http.exchange import BadRequest

PAGE_LIMIT = 100
_USUAL = 50


def page_limit(value: str | None) -> int:
    """How many entries a page has. Raises BadRequest."""
    if value is None:
        return _USUAL
    if not re.fullmatch(r"[0-9]{1,4}", value) or not 1 <= int(value) <= PAGE_LIMIT:
        raise BadRequest(f"`limit` must be a whole number from 1 to {PAGE_LIMIT}.")
    return int(value)


def bad_cursor() -> BadRequest:
    """What a cursor that is none of ours, or of another list, is answered with."""
    return BadRequest("`cursor` is not one that this list gave out.", code="bad_cursor")
