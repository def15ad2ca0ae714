"""The application's functions with their bindings, as the host must get them from the worker."""

from typing import Any

HTTP_FUNCTIONS = {
    "webhook": ("POST", "webhooks/{source}", "ANONYMOUS"),
    "callback": ("POST", "callbacks/{token}", "ANONYMOUS"),
    "submit_job": ("POST", "jobs", "FUNCTION"),
    "put_input": ("PUT", "inputs/{name}", "FUNCTION"),
    "get_job": ("GET", "jobs/{job_id}", "FUNCTION"),
    "get_result": ("GET", "jobs/{job_id}/result", "FUNCTION"),
    "list_reviews": ("GET", "reviews", "FUNCTION"),
    "show_review": ("GET", "jobs/{job_id}/review", "FUNCTION"),
    "approve_result": ("POST", "jobs/{job_id}/approve", "FUNCTION"),
    "reject_result": ("POST", "jobs/{job_id}/reject", "FUNCTION"),
    "cancel_job": ("POST", "jobs/{job_id}/cancel", "FUNCTION"),
    "list_cases": ("GET", "dead-letters", "FUNCTION"),
    "show_case": ("GET", "dead-letters/{job_id}", "FUNCTION"),
    "resubmit_case": ("POST", "dead-letters/{job_id}/resubmit", "FUNCTION"),
    "close_case": ("POST", "dead-letters/{job_id}/close", "FUNCTION"),
    "reconcile_case": ("POST", "dead-letters/{job_id}/reconcile", "FUNCTION"),
    "health": ("GET", "health", "ANONYMOUS"),
}
"""Method, route and key level, by name."""
TAKES_EVERY_METHOD = {"webhook"}
"""Answers those it does not serve with 405; the host would with 404."""


def expected(queue: str = "ai-jobs", schedule: str = "0 * * * * *") -> dict[str, Any]:
    """Every function's bindings."""
    http = {
        name: _http([] if name in TAKES_EVERY_METHOD else [method], route, level)
        for name, (method, route, level) in HTTP_FUNCTIONS.items()
    }
    timer = {"type": "timerTrigger", "direction": "IN", "name": "timer", "schedule": schedule}
    return http | {
        "run_job": [_queue(queue)],
        "file_dead_letter": [_queue(f"{queue}/$deadletterqueue")],
        "sweep": [timer],
        "delete_expired": [timer | {"schedule": "0 20 * * * *"}],
    }


def _http(methods: list[str], route: str, level: str) -> list[dict[str, Any]]:
    trigger = {"type": "httpTrigger", "direction": "IN", "name": "req"}
    answer = {"type": "http", "direction": "OUT", "name": "$return"}
    served = {"methods": methods} if methods else {}
    return [trigger | served | {"route": route, "authLevel": level}, answer]


def _queue(queue: str) -> dict[str, Any]:
    connection = {"connection": "ServiceBusConnection", "queueName": queue, "dataType": "BINARY"}
    return {"type": "serviceBusTrigger", "direction": "IN", "name": "message"} | connection
