"""The inline constraints of ASP.NET Core routes (`{id:int}`, `{name:minlength(3)}`): checks only.

Source: https://learn.microsoft.com/aspnet/core/fundamentals/routing#route-constraints
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

Check = Callable[[str], bool]

_GUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?\s*", re.IGNORECASE)
_CALL = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>.*)\))?", re.DOTALL)


def _integer(low: int, high: int) -> Check:
    return lambda text: _INTEGER.fullmatch(text) is not None and low <= int(text) <= high


def _number(text: str) -> bool:
    try:
        return _NUMBER.fullmatch(text) is not None and Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _length(low: int, high: int | None = None) -> Check:
    most = low if high is None else high
    return lambda text: low <= len(text) <= most


def _regex(pattern: str) -> Check:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.search(text) is not None


_LONG = 2**63
_PLAIN: dict[str, Check] = {
    "int": _integer(-(2**31), 2**31 - 1),
    "long": _integer(-_LONG, _LONG - 1),
    "bool": lambda text: text.strip().lower() in {"true", "false"},
    "guid": lambda text: _GUID.fullmatch(text) is not None,
    "alpha": lambda text: re.fullmatch(r"[a-zA-Z]*", text) is not None,
    "double": _number,
    "float": _number,
    "decimal": _number,
    "required": lambda text: text != "",
}
_WITH_NUMBERS: dict[str, tuple[int, int, Callable[..., Check]]] = {
    "min": (1, 1, lambda low: _integer(low, _LONG - 1)),
    "max": (1, 1, lambda high: _integer(-_LONG, high)),
    "range": (2, 2, _integer),
    "minlength": (1, 1, lambda low: _length(low, 2**31)),
    "maxlength": (1, 1, lambda high: _length(0, high)),
    "length": (1, 2, _length),
}


def parse_constraint(text: str) -> Check:
    """The check an inline constraint stands for. Raises ValueError for one this host does not know."""
    match = _CALL.fullmatch(text)
    name = match["name"] if match else text
    arguments = match["arguments"] if match else None
    if name == "regex" and arguments is not None:
        return _regex(arguments)
    if name in _PLAIN and arguments is None:
        return _PLAIN[name]
    if name in _WITH_NUMBERS and arguments is not None:
        least, most, build = _WITH_NUMBERS[name]
        numbers = [int(part) for part in arguments.split(",")]
        if least <= len(numbers) <= most:
            return build(*numbers)
    raise ValueError(f"the route constraint {text!r} is unknown or has the wrong arguments")
