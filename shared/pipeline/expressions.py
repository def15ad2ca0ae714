"""JMESPath expressions of pipeline.toml, checked as far as they can be without an event.

Source: https://jmespath.org/specification.html#functions
"""

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions

_FUNCTIONS: Mapping[str, Mapping[str, Any]] = Functions().FUNCTION_TABLE


def checked_expression(value: str) -> str:
    """`value`. Raises ValueError for what is no JMESPath, or calls a function that is none or in another way.

    The library finds out about functions only where one is called: with each event.
    """
    try:
        parsed = jmespath.compile(value).parsed
    except JMESPathError as error:
        reason = str(error).splitlines()[0].removesuffix(", for expression:").rstrip(":")
        raise ValueError(f"a JMESPath expression ({reason})") from None
    for name, given in _calls(parsed):
        if name not in _FUNCTIONS:
            raise ValueError(f"a JMESPath expression (there is no function {name}())")
        _check_arguments(name, given)
    return value


def _check_arguments(name: str, given: int) -> None:
    signature = _FUNCTIONS[name]["signature"]
    more = bool(signature) and bool(signature[-1].get("variadic"))
    if given == len(signature) or (more and given > len(signature)):
        return
    wanted = f"{len(signature)} or more" if more else f"{len(signature)}"
    raise ValueError(f"a JMESPath expression (the number of arguments of {name}() is {wanted}, not {given})")


def _calls(node: Any) -> Iterator[tuple[str, int]]:
    """Each function that the parsed expression calls, and with how many arguments."""
    if not isinstance(node, dict):
        return
    if node["type"] == "function_expression":
        yield node["value"], len(node["children"])
    for child in node["children"]:
        yield from _calls(child)
