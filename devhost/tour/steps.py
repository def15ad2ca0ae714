"""The tour: a webhook becomes a summary, a failure becomes a case, and a person decides.

Every value that it prints was answered by the running app.
"""

import json
import textwrap
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devhost.outside.receiver import Receiver
from devhost.tour import documents
from devhost.tour.client import Answer, Client, TourError

EVENT = "repository_dispatch"
OPERATOR = "harbour office"
REASON = "The PDF was meant, not the picture of its cover."
_WAIT_SECONDS = 90
_POLL_SECONDS = 0.1
_WIDTH = 100

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Tour:
    """What the steps need: the app, its storage, the sender's secret, the alerts, and where to print."""

    client: Client
    storage: str
    source: str
    secret: str
    alerts: Receiver
    tell: Tell
    is_first: bool = True
    """Whether nobody took the tour with this storage before: only a new kind of failure is announced."""

    def run(self) -> None:
        """Take all steps; `TourError` at the first that does not show what it should."""
        self._show_health()
        reference = self._put_document()
        delivery, body = str(uuid.uuid4()), event_body(reference)
        job_id = self._deliver(delivery, body)
        self._show_summary(job_id)
        self._deliver_again(delivery, body, job_id)
        self._forge(body)
        failed = self._deliver_picture()
        self._show_case(failed)
        self._resubmit(failed, reference)
        self._show_summary(failed)

    def _show_health(self) -> None:
        answers: list[Answer] = []

        def healthy() -> Answer | None:
            answers.append(self.client.get("/api/health"))
            return answers[-1] if answers[-1].code == 200 else None

        health = _poll(healthy, "the app did not become healthy")
        first = " (first call: the app starts)" if len(answers) == 1 else ""
        self.tell(f"1. The app is up: {_shown(health)}{first}, its storage and its queue answer")

    def _put_document(self) -> str:
        reference = documents.put(self.storage, documents.REPORT)
        size = documents.REPORT.stat().st_size
        self.tell(f"2. A real PDF of {size:,} bytes is in storage: {reference}")
        return reference

    def _deliver(self, delivery: str, body: bytes) -> str:
        answer = self._send(delivery, body)
        _expect(answer, 202, "a signed webhook")
        job_id = str(answer.field("job_id"))
        self.tell(f"3. A GitHub-signed webhook names it: {_shown(answer)}, job {job_id}")
        return job_id

    def _show_summary(self, job_id: str) -> None:
        job = self._wait_for(job_id, "succeeded")
        result = self.client.get(f"/api/jobs/{job_id}/result")
        _expect(result, 200, "the result")
        pages = result.field("document").get("pages")
        status, release = job.field("status"), release_text(job.field("release"))
        self.tell(f"   The worker is done: {status}, {release}; {pages} pages read.")
        self.tell(f"   {result.field('label')} The first of {len(result.field('sentences'))}:")
        self.tell(quoted(result.field("sentences")[0]))

    def _deliver_again(self, delivery: str, body: bytes, job_id: str) -> None:
        answer = self._send(delivery, body)
        _expect(answer, 200, "the same delivery again")
        if answer.field("job_id") != job_id or answer.field("duplicate") is not True:
            raise TourError(f"the same delivery again was not known: {answer.document}")
        self.tell(f"4. The same delivery again: {_shown(answer)}, duplicate, the same job {job_id}")

    def _forge(self, body: bytes) -> None:
        answer = self.client.deliver(self.source, EVENT, str(uuid.uuid4()), body, "a guessed secret")
        _expect(answer, 401, "a forged webhook")
        self.tell(f"5. A forged one: {_shown(answer)} {answer.field('code')}")

    def _deliver_picture(self) -> str:
        reference = documents.put(self.storage, documents.PICTURE)
        answer = self._send(str(uuid.uuid4()), event_body(reference))
        _expect(answer, 202, "a webhook with a document of an unsupported format")
        job_id = str(answer.field("job_id"))
        self.tell(f"6. A webhook names a picture, {reference}: {_shown(answer)}, job {job_id}")
        return job_id

    def _show_case(self, job_id: str) -> None:
        self._wait_for(job_id, "dead")
        case = _poll(lambda: self._case(job_id), f"no case was filed for {job_id}")
        failure = case.field("failure")
        self.tell(f"   Retrying cannot help, so a case is filed: {case.field('category')}, {failure['code']}")
        self.tell(quoted(failure["message"]))
        if self.is_first:
            self._show_alert()
        else:
            self.tell("   No alert is awaited: this kind of failure was announced in an earlier tour.")

    def _show_alert(self) -> None:
        alert = self.alerts.next(_WAIT_SECONDS)
        if alert is None:
            raise TourError("no alert was sent for the first failure of its kind")
        self.tell("   The alert:")
        self.tell(quoted(_alert_text(alert)))

    def _resubmit(self, job_id: str, reference: str) -> None:
        decision = {"operator": OPERATOR, "reason": REASON, "input_ref": reference}
        answer = self.client.post(f"/api/dead-letters/{job_id}/resubmit", decision)
        _expect(answer, 202, "the resubmit")
        release = answer.field("release")
        self.tell(f"7. The operator ({OPERATOR}) resubmits with the PDF: {_shown(answer)}, release {release}")
        self.tell(f"   Reason on record: {REASON}")

    def _send(self, delivery: str, body: bytes) -> Answer:
        return self.client.deliver(self.source, EVENT, delivery, body, self.secret)

    def _wait_for(self, job_id: str, status: str) -> Answer:
        def reached() -> Answer | None:
            job = self.client.get(f"/api/jobs/{job_id}")
            return job if job.code == 200 and job.field("status") == status else None

        return _poll(reached, f"job {job_id} did not become {status}")

    def _case(self, job_id: str) -> Answer | None:
        case = self.client.get(f"/api/dead-letters/{job_id}")
        return case if case.code == 200 else None


def event_body(reference: str) -> bytes:
    """A `repository_dispatch` event whose payload names a document in storage."""
    event = {
        "action": "document-uploaded",
        "branch": "main",
        "client_payload": {"document": reference},
        "repository": {"full_name": "vessholm/harbour"},
        "sender": {"login": "harbour-office", "id": 204},
    }
    return json.dumps(event, separators=(",", ":")).encode()


def _poll(look: Callable[[], Answer | None], trouble: str) -> Answer:
    until = time.monotonic() + _WAIT_SECONDS
    while (found := look()) is None:
        if time.monotonic() > until:
            raise TourError(f"{trouble} within {_WAIT_SECONDS} s")
        time.sleep(_POLL_SECONDS)
    return found


def _expect(answer: Answer, code: int, what: str) -> None:
    if answer.code != code:
        raise TourError(f"{what} was answered {answer.code} instead of {code}: {answer.document}")


def _shown(answer: Answer) -> str:
    return f"{answer.code} in {answer.milliseconds:.0f} ms"


def release_text(release: int) -> str:
    """A job's release number, explained: each resubmit of an operator makes the next one."""
    return f"release {release}: {'the webhook itself' if release == 0 else 'the operator resubmitted it'}"


def quoted(text: str) -> str:
    """Text of the app's, wrapped and marked as a quotation."""
    return textwrap.fill(text, _WIDTH, initial_indent="   > ", subsequent_indent="   > ")


def _alert_text(body: str) -> str:
    try:
        document: Any = json.loads(body)
    except ValueError:
        return body
    return str(document.get("text", body)) if isinstance(document, dict) else body
