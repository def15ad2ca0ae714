"""Ids that are or encode something personal are replaced by a keyed hash before they are stored.

A plain hash would not do: telephone numbers are few enough to try them all.
"""

import hashlib
import hmac
import logging
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

from shared.pipeline.model import SourcePolicy
from shared.problems import Problem
from shared.webhooks.secrets import SourceNotConfigured

_FIT = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
_TELEPHONE = re.compile(r"\+[\s().-]*(?:[0-9][\s().-]*){7}")
_NUMBER = re.compile(r"[0-9](?:[\s()./-]*[0-9]){6}")
KEY_SETTING = "AFTERHOOK_PSEUDONYM_KEY"
_WHATSAPP = "wamid."

logger = logging.getLogger("afterhook.webhooks")


class PseudonymKeyMissing(SourceNotConfigured):
    """A personal id came and this app has no key to hash it with; its log says which setting is missing."""


def looks_personal(value: str) -> bool:
    """Whether `value` holds an e-mail address, a number in international form, or a WhatsApp message id.

    A `wamid.` id encodes the other side's telephone number. Percent-encoding and wide digits do not hide it.
    """
    plain = _decoded(value)
    return "@" in plain or _WHATSAPP in plain.lower() or _TELEPHONE.search(plain) is not None


def event_pseudonym(event_id: str, key: bytes | None) -> str:
    """`event_id` as it is when it is short, printable and impersonal; otherwise `h_` and its keyed hash.

    Without a key it is left out: an unkeyed hash could be undone.
    """
    if not event_id or _plain(event_id):
        return event_id
    return "" if key is None else _hashed(b"event", event_id, key)


def user_pseudonym(user_id: str | None, key: bytes | None, *, numbers: bool = False) -> str | None:
    """As for events, but without a key such an id raises PseudonymKeyMissing: a person is not left out.

    `numbers` says that people are known by their telephone numbers, which may come without a plus as with
    WhatsApp: then seven digits, however they are grouped, are one.
    """
    if user_id is None or (_plain(user_id) and not (numbers and _NUMBER.search(_decoded(user_id)))):
        return user_id
    if key is None:
        logger.error("%s is not set, and a personal user id cannot be stored without it.", KEY_SETTING)
        raise PseudonymKeyMissing
    return _hashed(b"user", user_id, key)


def missing_key(sources: Mapping[str, SourcePolicy]) -> list[Problem]:
    """The problem of having no key of the app's own while a source has no secret that could serve as one.

    Without it ids would silently be left out, and people become nobody.
    """
    keyless = [name for name, source in sources.items() if not source.secrets]
    if not keyless:
        return []
    expected = (
        f"a secret of at least 16 characters: {', '.join(keyless)} (without secrets) may bring personal ids"
    )
    return [Problem(KEY_SETTING, expected, "none")]


def _plain(value: str) -> bool:
    return _FIT.fullmatch(value) is not None and not looks_personal(value)


def _decoded(value: str) -> str:
    return unicodedata.normalize("NFKC", unquote(value))


def _hashed(kind: bytes, value: str, key: bytes) -> str:
    message = b"afterhook " + kind + b"\x00" + value.encode("utf-8", "surrogatepass")
    return f"h_{hmac.new(key, message, hashlib.sha256).hexdigest()[:40]}"
