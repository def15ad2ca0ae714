"""Named points at which the fault tests stop, freeze or kill the process.

Nothing in the application installs a hook: no setting, header or message can reach it. The local
stack's fault tools, which are never deployed, call `install` in their own process.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum

Hook = Callable[[str], Awaitable[None]]


class Point(StrEnum):
    """Every point, named for what has just happened or is about to happen there."""

    INTAKE_BEFORE_STORE = "intake-before-store"
    INTAKE_BEFORE_JOB_ROW = "intake-before-job-row"
    INTAKE_AFTER_JOB_ROW = "intake-after-job-row"
    INTAKE_BEFORE_OPEN_ROW = "intake-before-open-row"
    INTAKE_AFTER_OPEN_ROW = "intake-after-open-row"
    INTAKE_BEFORE_SEND = "intake-before-send"
    INTAKE_AFTER_SEND = "intake-after-send"
    WORKER_BEFORE_CLAIM = "worker-before-claim"
    WORKER_AFTER_CLAIM = "worker-after-claim"
    TASK_RUNNING = "task-running"
    WORKER_BEFORE_RESULT_BLOB = "worker-before-result-blob"
    WORKER_AFTER_RESULT_BLOB = "worker-after-result-blob"
    WORKER_AFTER_SUCCESS = "worker-after-success"
    WORKER_AFTER_OPEN_ROW_REMOVED = "worker-after-open-row-removed"
    WORKER_AFTER_TURN_SENT = "worker-after-turn-sent"
    WORKER_AFTER_TURN_WRITTEN = "worker-after-turn-written"
    WORKER_AFTER_NUDGE = "worker-after-nudge"
    WORKER_BEFORE_DEAD = "worker-before-dead"
    WORKER_AFTER_DEAD = "worker-after-dead"
    DEADLETTER_BEFORE_DEAD = "deadletter-before-dead"
    DEADLETTER_BEFORE_CASE = "deadletter-before-case"
    CASE_AFTER_CASE_ROW = "case-after-case-row"
    CASE_AFTER_GROUP = "case-after-group"
    CASE_AFTER_JOB_MARKED = "case-after-job-marked"
    DEADLETTER_AFTER_CASE = "deadletter-after-case"
    RESUBMIT_BEFORE_BATCH = "resubmit-before-batch"
    RESUBMIT_BEFORE_SEND = "resubmit-before-send"
    RESUBMIT_AFTER_SEND = "resubmit-after-send"
    CLOSE_AFTER_BATCH = "close-after-batch"
    SWEEP_AFTER_NUDGE = "sweep-after-nudge"
    EFFECT_BEFORE_INTENT = "effect-before-intent"
    EFFECT_AFTER_INTENT = "effect-after-intent"
    EFFECT_AFTER_CALL = "effect-after-call"
    EFFECT_AFTER_FAILED_CALL = "effect-after-failed-call"
    EFFECT_AFTER_RESULT = "effect-after-result"
    EFFECT_BEFORE_LOOK_UP = "effect-before-look-up"
    EFFECT_AFTER_LOOK_UP = "effect-after-look-up"
    EFFECT_AFTER_ANSWER_WRITTEN = "effect-after-answer-written"
    EFFECT_AFTER_DISPROOF = "effect-after-disproof"
    WORKER_BEFORE_TURN_SENT = "worker-before-turn-sent"
    WORKER_BEFORE_PUT_OFF = "worker-before-put-off"
    WORKER_AFTER_PUT_OFF = "worker-after-put-off"
    WORKER_AFTER_PUT_OFF_NUDGE = "worker-after-put-off-nudge"
    WORKER_BEFORE_CANCELLED = "worker-before-cancelled"
    WORKER_AFTER_CANCELLED = "worker-after-cancelled"
    RECONCILE_BEFORE_BATCH = "reconcile-before-batch"
    RECONCILE_AFTER_RECORD = "reconcile-after-record"
    RECONCILE_BEFORE_SEND = "reconcile-before-send"
    RECONCILE_AFTER_SEND = "reconcile-after-send"
    CANCEL_BEFORE_BATCH = "cancel-before-batch"
    CANCEL_AFTER_BATCH = "cancel-after-batch"
    CANCEL_AFTER_FLAG = "cancel-after-flag"
    NOTIFY_BEFORE_POST = "notify-before-post"
    NOTIFY_AFTER_POST = "notify-after-post"
    NOTIFY_AFTER_PUT_OFF = "notify-after-put-off"
    NOTIFY_AFTER_TIMELINE = "notify-after-timeline"
    NOTIFY_AFTER_SETTLED = "notify-after-settled"
    NOTIFY_AFTER_NUDGE = "notify-after-nudge"
    FINISH_BEFORE_OPEN_ROW = "finish-before-open-row"
    CALLBACK_AFTER_WRITE = "callback-after-write"
    CALLBACK_AFTER_NUDGE = "callback-after-nudge"
    REVIEW_BEFORE_BATCH = "review-before-batch"
    REVIEW_AFTER_BATCH = "review-after-batch"
    REVIEW_AFTER_NUDGE = "review-after-nudge"
    RETENTION_AFTER_MARK = "retention-after-mark"
    RETENTION_AFTER_DELETE = "retention-after-delete"
    LIMITS_AFTER_ADMISSION = "limits-after-admission"
    LIMITS_AFTER_RESERVATION = "limits-after-reservation"
    LIMITS_BEFORE_CALL = "limits-before-call"
    LIMITS_AFTER_CALL = "limits-after-call"
    LIMITS_AFTER_FAILED_CALL = "limits-after-failed-call"
    LIMITS_AFTER_SETTLEMENT = "limits-after-settlement"
    LIMITS_AFTER_SLOT = "limits-after-slot"
    LIMITS_AFTER_START = "limits-after-start"
    VIDEO_AFTER_STATUS = "video-after-status"
    VIDEO_AFTER_FETCH = "video-after-fetch"


_hook: Hook | None = None


def install(hook: Hook | None) -> None:
    """Set or clear the hook. For the fault tools only."""
    global _hook  # noqa: PLW0603  one hook a process is the point
    _hook = hook


async def reach(point: Point) -> None:
    """Tell the hook, if one is installed, that execution came to `point`."""
    if _hook is not None:
        await _hook(point.value)
