"""The triggers: each decodes what the platform hands over, calls the application, and translates back.

Importing this file needs no setting: the application is built on the first call.
"""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import azure.functions as func

from shared.bootstrap import application, application_or_hold
from shared.http.exchange import HttpAnswer, HttpRequest, answered

if TYPE_CHECKING:
    from shared.application import Application

JOBS_QUEUE = os.environ.get("JOBS_QUEUE") or "ai-jobs"
SWEEP_SCHEDULE = os.environ.get("SWEEP_SCHEDULE") or "0 * * * * *"
RETENTION_SCHEDULE = os.environ.get("RETENTION_SCHEDULE") or "0 20 * * * *"
CONNECTION = "ServiceBusConnection"

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)


async def _answer(
    req: func.HttpRequest, call: "Callable[[Application, HttpRequest], Awaitable[HttpAnswer]]"
) -> func.HttpResponse:
    async def handler() -> HttpAnswer:
        return await call(await application(), _request(req))

    answer = await answered(handler)
    # Not as `mimetype`: to one of text the library adds a charset, also where it has one.
    headers = {**answer.headers, "content-type": answer.content_type}
    return func.HttpResponse(answer.body, status_code=answer.status, headers=headers)


def _request(req: func.HttpRequest) -> HttpRequest:
    return HttpRequest(
        method=req.method,
        url=req.url,
        headers={name.lower(): value for name, value in req.headers.items()},
        params=dict(req.route_params),
        query=dict(req.params),
        body=req.get_body(),
    )


# Every method: to those left out the host itself answers 404, not 405.
@app.route("webhooks/{source}", auth_level=func.AuthLevel.ANONYMOUS)
async def webhook(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.receive_webhook(request))


@app.route("callbacks/{token}", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
async def callback(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.receive_callback(request))


@app.route("jobs", methods=["POST"])
async def submit_job(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("submit_job", request))


@app.route("inputs/{name}", methods=["PUT"])
async def put_input(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("put_input", request))


@app.route("jobs/{job_id}", methods=["GET"])
async def get_job(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("get_job", request))


@app.route("jobs/{job_id}/result", methods=["GET"])
async def get_result(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("get_result", request))


@app.route("jobs/{job_id}/cancel", methods=["POST"])
async def cancel_job(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("cancel_job", request))


@app.route("reviews", methods=["GET"])
async def list_reviews(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("list_reviews", request))


@app.route("jobs/{job_id}/review", methods=["GET"])
async def show_review(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("show_review", request))


@app.route("jobs/{job_id}/approve", methods=["POST"])
async def approve_result(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("approve_result", request))


@app.route("jobs/{job_id}/reject", methods=["POST"])
async def reject_result(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("reject_result", request))


@app.route("dead-letters", methods=["GET"])
async def list_cases(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("list_cases", request))


@app.route("dead-letters/{job_id}", methods=["GET"])
async def show_case(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("show_case", request))


@app.route("dead-letters/{job_id}/resubmit", methods=["POST"])
async def resubmit_case(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("resubmit_case", request))


@app.route("dead-letters/{job_id}/close", methods=["POST"])
async def close_case(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("close_case", request))


@app.route("dead-letters/{job_id}/reconcile", methods=["POST"])
async def reconcile_case(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, request: built.serve("reconcile_case", request))


@app.route("health", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def health(req: func.HttpRequest) -> func.HttpResponse:
    return await _answer(req, lambda built, _: built.health())


@app.service_bus_queue_trigger(
    "message", queue_name=JOBS_QUEUE, connection=CONNECTION, data_type=func.DataType.BINARY
)
async def run_job(message: func.ServiceBusMessage) -> None:
    built = await application_or_hold()
    await built.run_job(message.get_body(), message.application_properties, message.message_id)


@app.service_bus_queue_trigger(
    "message",
    queue_name=f"{JOBS_QUEUE}/$deadletterqueue",
    connection=CONNECTION,
    data_type=func.DataType.BINARY,
)
async def file_dead_letter(message: func.ServiceBusMessage) -> None:
    built = await application_or_hold()
    await built.file_dead_letter(
        message.get_body(), message.application_properties, message.sequence_number or 0
    )


@app.timer_trigger("timer", schedule=SWEEP_SCHEDULE)
async def sweep(timer: func.TimerRequest) -> None:  # noqa: ARG001  the trigger's parameter
    # Nothing is lost by a tick that fails, and one that waits would hold up a shutdown.
    built = await application()
    await built.sweep()


@app.timer_trigger("timer", schedule=RETENTION_SCHEDULE)
async def delete_expired(timer: func.TimerRequest) -> None:  # noqa: ARG001  the trigger's parameter
    built = await application()
    await built.delete_expired()
