"""`POST /callbacks/{token}`: a provider says that something may be ready. The token is the authentication."""

from shared.callbacks import called_back
from shared.errors import RequestRefused
from shared.http.exchange import BadRequest, HttpAnswer, HttpRequest, answer_json
from shared.services import Services

BODY_LIMIT = 1024 * 1024


async def receive_callback(services: Services, request: HttpRequest) -> HttpAnswer:
    """200, also when there was nothing to hurry. The body is never looked at."""
    if len(request.body) > BODY_LIMIT:
        raise BadRequest(f"The body is over {BODY_LIMIT} bytes.", code="body_too_large", status=413)
    try:
        taken = await called_back(services, request.params.get("token", ""))
    except RequestRefused as refused:
        services.telemetry.count("callbacks", outcome=refused.code)
        raise
    outcome = "accepted" if taken.hurried else "ignored"
    services.telemetry.count("callbacks", outcome=outcome)
    return answer_json(200, {"status": outcome})
