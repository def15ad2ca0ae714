"""What is wrong in pipeline.toml, in its author's words: where, what was expected, what was found."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from shared.pipeline.document import keys_at
from shared.pipeline.lines import Path, line_of, scan_lines
from shared.pipeline.misfits import Misfit
from shared.pipeline.options import scheme_at
from shared.pipeline.sections import BACKOFF_TAGS
from shared.problems import Problem, shown

_SYNTAX = re.compile(r"(?P<reason>.*?) ?\(at (?:line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL)
_NAMES_SECRETS = frozenset({"secrets", "shared_keys", "verify_token", "notify"})
"""The keys of a source whose values are the names of settings with secrets."""
_EXPECTED = {
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entry",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "literal_error": "one of {expected}",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "string_type": "text",
}


def syntax_problem(name: str, error: ValueError) -> Problem:
    """That of a text which is no TOML."""
    found = _SYNTAX.fullmatch(str(error))
    reason = found["reason"] if found else str(error)
    where = f"{name} line {found['line']}" if found and found["line"] else f"{name} at its end"
    return Problem(where, "valid TOML", f"a mistake ({reason})")


def located(name: str, text: str, wrong: list[Misfit]) -> list[Problem]:
    """Each with its line, in the order of the file `name`."""
    lines = scan_lines(text)
    numbered = [(line_of(lines, misfit.path) or 0, misfit) for misfit in wrong]
    numbered.sort(key=lambda pair: pair[0])
    return [
        Problem(
            f"{name} line {line}: {_dotted(misfit.path)}" if line else f"{name}: {_dotted(misfit.path)}",
            misfit.expected,
            misfit.found,
        )
        for line, misfit in numbered
    ]


def _dotted(path: Path) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def misfit_of(details: Mapping[str, Any], raw: Mapping[str, Any]) -> Misfit:
    """One of pydantic's errors, without its words and without a secret."""
    path: Path = tuple(key for key in details["loc"] if key not in BACKOFF_TAGS)
    kind = details["type"]
    if kind == "extra_forbidden":
        return Misfit(path, _known_keys(path, raw), f"the unknown key {shown(path[-1])}")
    if kind == "missing":
        return Misfit(path, "this key", "none")
    if kind == "value_error":
        expected = str(details["ctx"]["error"])
    else:
        expected = _EXPECTED.get(kind, "another value").format(**details.get("ctx", {}))
    return Misfit(path, expected, _found(path, details["input"]))


def _found(path: Path, value: object) -> str:
    """What stands there. Somebody may have written a secret where its setting's name belongs."""
    if not _NAMES_SECRETS.intersection(path[2:3]) or isinstance(value, int | float):
        return shown(value)
    if isinstance(value, list):
        return str(len(value))
    return "something else (not shown: it may be a secret)"


def _known_keys(path: Path, raw: Mapping[str, Any]) -> str:
    known = keys_at(path[:-1], scheme_at(raw, path))
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if not known:
        return "no such key"
    hint = f" - did you mean {close[0]}?" if close else ""
    return f"one of {', '.join(known)}{hint}"
