"""The shape of pipeline.toml: one model a table. Unknown keys are problems.

A source's table also holds the options of its scheme, which the scheme's own model describes
(`shared.webhooks.base.Options`).
"""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from shared.pipeline.model import Users
from shared.pipeline.values import (
    AttemptTimeout,
    BodySize,
    Deadline,
    Delay,
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

DEFAULT_ATTEMPT_TIMEOUT = timedelta(minutes=2)


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


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
    input_ref: Expression | None = None
    input: Expression | None = None
    user: Expression | None = None
    keep: Expression | None = None


class SourceSection(Section):
    scheme: SchemeName
    secrets: Annotated[list[SettingName], Field(max_length=5)] = []
    max_body: BodySize = MIB
    tolerance: Tolerance = timedelta(minutes=5)
    allowed_inputs: list[Prefix] = []
    users: UsersName | None = None
    routes: Annotated[list[RouteSection], Field(min_length=1)]


class CurveSection(Section):
    base: Delay
    factor: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)]
    cap: Delay


BACKOFF_TAGS = frozenset({"backoff-list", "backoff-curve"})


def _backoff_tag(value: object) -> str:
    return "backoff-curve" if isinstance(value, dict | CurveSection) else "backoff-list"


BackoffSection = Annotated[
    Annotated[list[Delay], Field(min_length=1, max_length=50), Tag("backoff-list")]
    | Annotated[CurveSection, Tag("backoff-curve")],
    Discriminator(_backoff_tag),
]


class RetrySection(Section):
    attempts: Annotated[int, Field(ge=1, le=100)] = 5
    deadline: Deadline = timedelta(hours=24)
    backoff: BackoffSection = CurveSection.model_validate({"base": "5s", "factor": 2, "cap": "5m"})
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.2


class SummarizeDocumentSection(Section):
    attempt_timeout: AttemptTimeout = DEFAULT_ATTEMPT_TIMEOUT
    max_document: DocumentSize = 20 * MIB
    sentences: Annotated[int, Field(ge=1, le=50)] = 5
    retry: RetrySection = RetrySection()


class TasksSection(Section):
    """One field for each task type there is."""

    summarize_document: SummarizeDocumentSection | None = None


class ApiSection(Section):
    allowed_inputs: list[Prefix] = []
    max_input: DocumentSize = 20 * MIB
    users: UsersName = Users.IDS


class Document(Section):
    sources: dict[str, SourceSection] = {}
    tasks: TasksSection = TasksSection()
    api: ApiSection = ApiSection()


def keys_at(path: tuple[str | int, ...], scheme: object = None) -> tuple[str, ...]:
    """The keys that the table at `path` may have; in a source's table also those of its `scheme`."""
    own = option_keys(scheme) if len(path) == 2 and path[0] == "sources" else ()
    section: type[Section] | None
    match path:
        case ():
            section = Document
        case ("api",):
            section = ApiSection
        case ("sources", str()):
            section = SourceSection
        case ("sources", str(), "routes", int()):
            section = RouteSection
        case ("tasks",):
            section = TasksSection
        case ("tasks", str()):
            section = SummarizeDocumentSection
        case ("tasks", str(), "retry"):
            section = RetrySection
        case ("tasks", str(), "retry", "backoff"):
            section = CurveSection
        case _:
            section = None
    return (*section.model_fields, *own) if section else ()


def option_keys(scheme: object) -> tuple[str, ...]:
    """The keys that a source's table has for its scheme alone; none where there is no such scheme."""
    return tuple(scheme_named(str(scheme)).options.model_fields) if scheme in scheme_names() else ()
