"""The sources' secrets: read from the app settings when a source is first used.

A source whose secrets are unusable answers 503 and leaves the other sources alone. Nothing here shows a
secret: problems name the setting and say what is wrong with its value.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from shared.errors import TransientError
from shared.pipeline.model import SourcePolicy
from shared.settings import UNRESOLVED_REFERENCE
from shared.webhooks.base import UnusableSecret
from shared.webhooks.registry import scheme_named

PLACEHOLDER = "change-me"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"

logger = logging.getLogger("afterhook.webhooks")


class SourceNotConfigured(TransientError):
    """A secret of this source is missing or unusable: our fault, so the sender should try again."""

    code: ClassVar[str] = "source_not_configured"


class KeysUnavailable(SourceNotConfigured):
    """The sender's published keys could not be fetched, so nothing can be checked now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKeys:
    """The usable keys, each with its place in the source's list of secrets, and what is wrong with others.

    `named` holds the scheme's further secrets.
    """

    keys: tuple[bytes, ...] = field(repr=False)
    places: tuple[int, ...]
    problems: tuple[str, ...]
    named: Mapping[str, bytes] = field(default_factory=dict, repr=False)


class SourceSecrets:
    """Loads and keeps the keys of each source."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._loaded: dict[str, SourceKeys] = {}

    def keys_of(self, source: SourcePolicy) -> SourceKeys:
        """The source's keys, from its settings at the first call. Never raises."""
        if source.name not in self._loaded:
            self._loaded[source.name] = load_keys(source, self._environ)
        return self._loaded[source.name]


def load_keys(source: SourcePolicy, environ: Mapping[str, str]) -> SourceKeys:
    """Every usable key of `source`; each setting that cannot be used is a problem, and a warning."""
    problems: list[str] = []
    found: dict[int, bytes] = {}
    for place, setting in enumerate(source.secrets):
        if (key := _key(source, setting, environ, problems)) is not None:
            found[place] = key
    named: dict[str, bytes] = {}
    for name, setting in source.options.named_secrets().items():
        if (key := _key(source, setting, environ, problems)) is not None:
            named[name] = key
    return SourceKeys(
        keys=tuple(found.values()),
        places=tuple(found),
        problems=tuple(problems),
        named=MappingProxyType(named),
    )


def _key(source: SourcePolicy, setting: str, environ: Mapping[str, str], problems: list[str]) -> bytes | None:
    try:
        return scheme_named(source.scheme).load_key(_secret(setting, environ), source.options)
    except UnusableSecret as error:
        problem = f"The setting {setting} cannot be used as a secret: {error}."
        problems.append(problem)
        logger.warning("Source %s: %s", source.name, problem)
        return None


def _secret(setting: str, environ: Mapping[str, str]) -> str:
    value = environ.get(setting)
    if value is None:
        raise UnusableSecret("it is not set")
    secret = _trimmed(value)
    if not secret:
        raise UnusableSecret("it is empty")
    if not _is_text(secret):
        raise UnusableSecret("it is not text in UTF-8")
    if len(set(secret)) == 1:
        raise UnusableSecret("it is one character repeated, as a masked secret is shown")
    if secret.startswith(UNRESOLVED_REFERENCE):
        raise UnusableSecret("its Key Vault reference was not resolved")
    if secret.lower().startswith(PLACEHOLDER):
        raise UnusableSecret("it is still the sample's placeholder")
    if secret != value:
        logger.warning(
            "The setting %s begins or ends with white space, which was left out of the secret.", setting
        )
    return secret


def _trimmed(value: str) -> str:
    """Without what is not seen at its ends: line ends, no-break spaces, byte order marks."""
    while (shorter := value.strip().strip(INVISIBLE)) != value:
        value = shorter
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
