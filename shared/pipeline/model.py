"""The pipeline as the application uses it: sources, their routes, and task policies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from shared.pipeline.policies import (
    BreakerPolicy,
    NotifyPolicy,
    OutboundPolicy,
    PricePolicy,
    RetentionPolicy,
    TaskPolicy,
    TenantLimits,
)
from shared.sizes import MIB
from shared.webhooks.base import Options


class Expression(Protocol):
    """A compiled JMESPath expression."""

    @property
    def expression(self) -> str:
        """The text it was compiled from."""
        ...

    def search(self, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Events whose type matches `event` (a glob) start `task`.

    At most one of `input_ref` (finds the name of a document in storage) and `input` (finds the input
    itself) is set; with neither, the whole event is the input. `user` finds on whose behalf, `keep` what
    of the event is stored beside the input. `delay` puts the start off.
    """

    event: str
    pattern: re.Pattern[str]
    task: str
    delay: timedelta | None = None
    input_ref: Expression | None = None
    input: Expression | None = None
    user: Expression | None = None
    keep: Expression | None = None


class Users(StrEnum):
    """What a sender's user ids are: its own ids, or telephone numbers, which are personal without a plus too.

    A customer's number and a telephone number look the same, so it is for the configuration to say.
    """

    IDS = "ids"
    NUMBERS = "numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePolicy:
    """One sender. `secrets` names the settings that hold its secrets, the current one first.

    `users` is None where the scheme decides. `options` is what its scheme alone needs to know.
    """

    name: str
    scheme: str
    secrets: tuple[str, ...]
    max_body: int  # bytes
    tolerance: timedelta
    allowed_inputs: tuple[str, ...]  # prefixes `container/folder/`
    routes: tuple[Route, ...]
    users: Users | None = None
    notify: NotifyPolicy | None = None
    limits: TenantLimits = field(default_factory=TenantLimits)
    options: Options = field(default_factory=Options)


API = "api"
"""The source of jobs that callers ask for themselves; no webhook source may have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPolicy:
    """What callers of `POST /jobs` may read beside what they uploaded, and how much they may upload."""

    allowed_inputs: tuple[str, ...] = ()  # prefixes `container/folder/`
    max_input: int = 20 * MIB  # bytes
    users: Users = Users.IDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    sources: Mapping[str, SourcePolicy]
    tasks: Mapping[str, TaskPolicy]
    api: ApiPolicy = ApiPolicy()
    outbound: OutboundPolicy = field(default_factory=OutboundPolicy)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    prices: Mapping[str, PricePolicy] = field(default_factory=dict)  # by model
    providers: Mapping[str, BreakerPolicy] = field(default_factory=dict)
