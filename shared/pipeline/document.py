"""The shape of pipeline.toml: one model a table. Unknown keys are problems.

A source's table also holds the options of its scheme, which the scheme's own model describes
(`shared.webhooks.base.Options`).
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

from shared.pipeline.model import Users
from shared.pipeline.sections import (
    BreakerSection,
    CurveSection,
    LimitsSection,
    NotifySection,
    OutboundSection,
    PriceSection,
    RetentionSection,
    Section,
)
from shared.pipeline.task_sections import TasksSection, task_section_at
from shared.pipeline.values import (
    BodySize,
    Deadline,
    DocumentSize,
    Expression,
    Glob,
    Prefix,
    SettingName,
    Tolerance,
    quoted,
)
from shared.sizes import MIB
from shared.webhooks.registry import scheme_named, scheme_names


def _scheme(value: object) -> str:
    names = scheme_names()
    if value not in names:
        raise ValueError(f"one of {quoted(names)}")
    return str(value)


def _users(value: object) -> Users:
    if value not in tuple(Users):
        raise ValueError(f"one of {quoted(tuple(Users))}")
    return Users(str(value))


SchemeName = Annotated[str, BeforeValidator(_scheme)]
UsersName = Annotated[Users, BeforeValidator(_users)]


class RouteSection(Section):
    event: Glob
    task: str
    delay: Deadline | None = None
    input_ref: Expression | None = None
    input: Expression | None = None
    user: Expression | None = None
    keep: Expression | None = None


class SourceSection(Section):
    scheme: SchemeName
    secrets: Annotated[list[SettingName], Field(max_length=5, default_factory=list)]
    max_body: BodySize = MIB
    tolerance: Tolerance = timedelta(minutes=5)
    allowed_inputs: list[Prefix] = Field(default_factory=list)
    users: UsersName | None = None
    notify: NotifySection | None = None
    limits: LimitsSection = LimitsSection()
    routes: Annotated[list[RouteSection], Field(min_length=1)]


class ApiSection(Section):
    allowed_inputs: list[Prefix] = Field(default_factory=list)
    max_input: DocumentSize = 20 * MIB
    users: UsersName = Users.IDS


class Document(Section):
    sources: dict[str, SourceSection] = Field(default_factory=dict)
    tasks: TasksSection = TasksSection()
    api: ApiSection = ApiSection()
    outbound: OutboundSection = OutboundSection()
    retention: RetentionSection = RetentionSection()
    prices: dict[str, PriceSection] = Field(default_factory=dict)
    providers: dict[str, BreakerSection] = Field(default_factory=dict)


def keys_at(path: tuple[str | int, ...], scheme: object = None) -> tuple[str, ...]:
    """The keys that the table at `path` may have; in a source's table also those of its `scheme`."""
    own = option_keys(scheme) if len(path) == 2 and path[0] == "sources" else ()
    section = _section_at(path)
    return (*section.model_fields, *own) if section else ()


_TABLES: Mapping[tuple[str, ...], type[Section]] = {
    (): Document,
    ("api",): ApiSection,
    ("outbound",): OutboundSection,
    ("retention",): RetentionSection,
    ("sources", "*"): SourceSection,
    ("sources", "*", "routes", "*"): RouteSection,
    ("sources", "*", "limits"): LimitsSection,
    ("sources", "*", "notify"): NotifySection,
    ("prices", "*"): PriceSection,
    ("providers", "*"): BreakerSection,
    ("providers", "*", "rest"): CurveSection,
}


def _section_at(path: tuple[str | int, ...]) -> type[Section] | None:
    if path[:1] == ("tasks",):
        return task_section_at(path[1:])
    names = tuple("*" if place in {1, 3} else str(key) for place, key in enumerate(path))
    return _TABLES.get(names)


def option_keys(scheme: object) -> tuple[str, ...]:
    """The keys that a source's table has for its scheme alone; none where there is no such scheme."""
    return tuple(scheme_named(str(scheme)).options.model_fields) if scheme in scheme_names() else ()
