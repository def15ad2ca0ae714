"""The application with one function more that does nothing: what the host itself costs."""

import importlib.util

import azure.functions as func

from devhost.paths import ROOT

_spec = importlib.util.spec_from_file_location("afterhook_function_app", ROOT / "function_app.py")
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

app: func.FunctionApp = _module.app


@app.route("nothing", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
async def nothing(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001  the trigger's parameter
    return func.HttpResponse(status_code=202)
