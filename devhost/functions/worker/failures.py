"""A function's exception, in the words of the Python worker.

Source: `serialize_exception` in the PyPI package azure-functions-runtime.
"""

import traceback

from devhost.functions.worker.protocol import FunctionFailed

_UNTOLD = "Unhandled exception in function. Could not serialize original exception message."


def message_of(error: BaseException) -> str:
    """`<type>: <text>`, also for an exception whose text raises another."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - the text is the app's own code
        return _UNTOLD


def failed(error: Exception) -> FunctionFailed:
    """The failure to report for what was raised."""
    try:
        trace = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - the text is the app's own code
        trace = ""
    return FunctionFailed(message_of(error), trace)
