"""`/dead-letters`: list, show, and decide. Every decision needs an operator and a reason."""

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, StringConstraints

from shared.deadletters.close import close
from shared.deadletters.open_effects import open_effects
from shared.deadletters.ports import CaseFilter, CaseState
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.deadletters.refusals import CaseNotFound
from shared.deadletters.release import Released
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import read_effect
from shared.http.bodies import content_of, read_body
from shared.http.decision_bodies import DecisionBody, Identifier, bad_decision, decision_of
from shared.http.exchange import BadRequest, HttpAnswer, HttpRequest, answer_json
from shared.http.jobs_api import notification_of
from shared.http.paging import bad_cursor, page_limit
from shared.http.views import (
    attempt_view,
    case_view,
    decision_view,
    effect_view,
    failure_view,
    timeline_view,
)
from shared.jobs import JOB_ID, Category
from shared.ports import RowKind
from shared.services import Services
from shared.webhooks.routing import TEXT

LATEST_START = timedelta(days=30)
_MESSAGE_CASE = re.compile(r"msg_[0-9]{1,20}(?:_[0-9a-f]{8})?")

E = TypeVar("E", bound=StrEnum)


class ResubmitBody(DecisionBody):
    input_ref: Annotated[str, StringConstraints(min_length=1, max_length=1100)] | None = None
    input: Any = None
    at: AwareDatetime | None = None


class ReconcileBody(DecisionBody):
    effect: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    outcome: Outcome
    external_id: Identifier | None = None


async def list_cases(services: Services, request: HttpRequest) -> HttpAnswer:
    """A page of cases, newest first, open ones unless `state` says otherwise."""
    query = request.query
    wanted = CaseFilter(
        state=_choice(CaseState, query.get("state"), "state") or CaseState.OPEN,
        category=_choice(Category, query.get("category"), "category"),
        task_type=query.get("task_type"),
        fingerprint=query.get("fingerprint"),
    )
    limit = page_limit(query.get("limit"))
    try:
        page = await services.cases.page(wanted, limit=limit, cursor=query.get("cursor"))
    except ValueError:
        raise bad_cursor() from None
    return answer_json(200, {"cases": [case_view(case) for case in page.cases], "cursor": page.cursor})


async def show_case(services: Services, request: HttpRequest) -> HttpAnswer:
    """One case with all that an operator needs to decide: failure, attempts, effects, decisions, timeline."""
    case_id = _case_id(request)
    case = await services.cases.get(case_id)
    if case is None:
        raise CaseNotFound
    view = case_view(case)
    snapshot = await services.jobs.load(case_id)
    if snapshot is not None:
        rows = services.jobs.rows
        job = snapshot.job
        view |= {
            "status": job.state.value,
            "job_release": job.release,
            "failure": failure_view(job.failure) if job.failure else None,
            "effects": [effect_view(read_effect(row)) for row in await rows(case_id, RowKind.EFFECT)],
            "open_effects": list((await open_effects(services, job)).unknown),
            "attempt_log": [attempt_view(row) for row in await rows(case_id, RowKind.ATTEMPT)],
            "decisions": [decision_view(row) for row in await rows(case_id, RowKind.DECISION)],
            "timeline": [timeline_view(row) for row in await rows(case_id, RowKind.TIMELINE)],
        }
        told = await notification_of(services, job)
        view |= {} if told is None else {"notification": told}
    return answer_json(200, view)


async def resubmit_case(services: Services, request: HttpRequest) -> HttpAnswer:
    """Release the job once more: 202 with its release number."""
    body = read_body(ResubmitBody, request, bad_decision)
    if body.input_ref is not None and body.input is not None:
        raise BadRequest("Give `input_ref` or `input`, not both.", code="bad_request")
    wanted = Resubmission(
        input_ref=body.input_ref,
        content=content_of(body.input),
        content_type=TEXT if isinstance(body.input, str) else None,
        at=_start(services, body.at),
    )
    done = await resubmit(services, _case_id(request), decision_of(body, request), wanted)
    return _released(done)


async def close_case(services: Services, request: HttpRequest) -> HttpAnswer:
    """Close the case: nothing more will be done about it."""
    body = read_body(DecisionBody, request, bad_decision)
    case_id = _case_id(request)
    await close(services, case_id, decision_of(body, request))
    return answer_json(200, {"job_id": case_id, "status": "closed"})


async def reconcile_case(services: Services, request: HttpRequest) -> HttpAnswer:
    """Say whether an effect happened: 202 with the release in which the job runs on from there.

    While other outcomes are unknown, 200 with their names.
    """
    body = read_body(ReconcileBody, request, bad_decision)
    _check_external_id(body)
    wanted = Reconciliation(effect=body.effect, outcome=body.outcome, external_id=body.external_id)
    done = await reconcile(services, _case_id(request), decision_of(body, request), wanted)
    if done.released is None:
        remaining = list(done.remaining)
        return answer_json(200, {"job_id": done.job_id, "status": "dead", "remaining": remaining})
    return _released(done.released)


def _check_external_id(body: ReconcileBody) -> None:
    if body.outcome is Outcome.DONE and body.external_id is None:
        text = (
            "`external_id` is missing or blank: the provider's id of what was done, by which the job goes on."
        )
        raise BadRequest(text, code="external_id_required")
    if body.outcome is Outcome.NOT_DONE and body.external_id is not None:
        raise BadRequest("What was not done has no `external_id`.")


def _released(done: Released) -> HttpAnswer:
    answer: dict[str, Any] = {"job_id": done.job_id, "release": done.release}
    if not done.queued:
        answer["detail"] = "The queue is away. The release is stored and will be queued when it is back."
    return answer_json(202, answer)


def _case_id(request: HttpRequest) -> str:
    case_id = request.params.get("job_id", "")
    if not (JOB_ID.fullmatch(case_id) or _MESSAGE_CASE.fullmatch(case_id)):
        raise CaseNotFound("There is no case of this id.")
    return case_id


def _start(services: Services, at: datetime | None) -> datetime | None:
    if at is not None and at - services.clock.now() > LATEST_START:
        raise BadRequest(f"`at` must lie within {LATEST_START.days} days.")
    return at


def _choice(kind: type[E], value: str | None, name: str) -> E | None:
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(member.value for member in kind)
        raise BadRequest(f"`{name}` must be one of: {choices}.") from None
