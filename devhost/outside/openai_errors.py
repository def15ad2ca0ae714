"""How an OpenAI-compatible API refuses, and whom (https://platform.openai.com/docs/guides/error-codes)."""

from devhost.outside.messages import Call, Refused


def openai_errors(refused: Refused) -> object:
    """The `error` object."""
    kinds = {429: "rate_limit_error", 401: "authentication_error"}
    kind = "server_error" if refused.status >= 500 else kinds.get(refused.status, "invalid_request_error")
    return {
        "error": {
            "message": refused.message,
            "type": kind,
            "param": refused.param,
            "code": str(refused.code),
        }
    }


def invalid(param: str, message: str) -> Refused:
    """A request that can never be right."""
    return Refused(400, "invalid_value", message, param=param)


def check_signed_in(call: Call) -> None:
    """Any bearer token, or Azure's `api-key`, will do. Raises Refused."""
    if (
        not call.headers.get("authorization", "").lower().startswith("bearer ")
        and "api-key" not in call.headers
    ):
        raise Refused(401, "invalid_api_key", "There is no API key.")
