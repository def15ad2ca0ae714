"""Does a function's Python signature fit its bindings? The Python worker's own checks, in its own words.

Source: `Registry` in the PyPI package azure-functions-runtime (the worker library of Python 3.13).
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devhost.functions.definitions import GENERIC
from devhost.functions.errors import FunctionLoadError
from devhost.functions.worker.conversion import converter

Binding = Mapping[str, Any]
"""A binding in function.json form."""


class SignatureCheck:
    """Checks one function. Raises FunctionLoadError with the first thing that does not fit.

    An annotation that cannot be read raises what reading it raises, as in the worker.
    """

    def __init__(self, name: str, call: Callable[..., Any], bindings: Sequence[Binding]) -> None:
        self._name = name
        self._bindings = bindings
        self._parameters = dict(inspect.signature(call).parameters)
        self._annotations = typing.get_type_hints(call)

    def requires_context(self) -> bool:
        """Whether an unbound parameter `context` is there; its annotation, if any, must be func.Context."""
        bound = {binding["name"] for binding in self._bindings}
        if "context" not in self._parameters or "context" in bound:
            return False
        annotation = self._annotations.get("context")
        if "context" in self._annotations and getattr(annotation, "__name__", "") != "Context":
            self._fail(
                'the "context" parameter is expected to be of type azure.functions.Context, got "'
                f'{annotation!r}"'
            )
        return True

    def check_parameters(self) -> dict[str, str]:
        """Each bound parameter's converter: its binding type, or `generic` for `str` and `bytes`."""
        for binding in self._bindings:
            self._check_direction(binding)
        bound = {binding["name"]: binding for binding in self._bindings if binding["name"] != "$return"}
        declared = set(self._parameters) - ({"context"} if self.requires_context() else set())
        if declared - set(bound):
            self._fail(
                "the following parameters are declared in Python but not in the function definition "
                f"(function.json or function decorators):  {declared - set(bound)!r}"
            )
        if set(bound) - declared:
            self._fail(
                "Extra parameters in binding definition — the following parameters are declared as bindings "
                f"but are not present in Python: {set(bound) - declared!r}"
            )
        return {name: self._check_parameter(name, bound[name]) for name in declared}

    def check_return(self) -> tuple[str | None, type | None]:
        """The `$return` binding's type, and the annotated return type where there is one."""
        binding = next((b for b in self._bindings if b["name"] == "$return"), None)
        if binding is None:
            return None, None
        if "return" not in self._annotations:
            return str(binding["type"]), None
        annotation = self._annotations["return"]
        if _is_out(annotation):
            self._fail("return annotation should not be azure.functions.Out")
        if not isinstance(annotation, type):
            self._fail(f"has invalid non-type return annotation {annotation!r}")
        if not converter(binding["type"]).check_output_type_annotation(annotation):
            self._fail(
                f'Python return annotation "{annotation.__name__}" does not match binding type '
                f'"{binding["type"]}"'
            )
        return str(binding["type"]), annotation

    def _check_direction(self, binding: Binding) -> None:
        direction = str(binding.get("direction", "")).lower()
        if direction == "inout":
            self._fail('"inout" bindings are not supported')
        if binding["name"] == "$return" and direction != "out":
            self._fail('"$return" binding must have direction set to "out"')

    def _check_parameter(self, name: str, binding: Binding) -> str:
        kind = str(binding["type"])
        known = converter(kind)
        if name not in self._annotations or known is None or str(binding["direction"]).lower() == "out":
            return kind  # of the last two the host has none, and says so
        annotation = self._annotations[name]
        if _is_out(annotation):
            if len(typing.get_args(annotation)) != 1:
                self._fail(f"binding {name} has invalid Out annotation {annotation!r}")
            self._fail(
                f'binding {name} is declared to have the "in" direction in the binding decorator, but its '
                "annotation is azure.functions.Out in Python"
            )
        if not isinstance(annotation, type) and not _is_generic(annotation):
            self._fail(f"binding {name} has invalid non-type annotation {annotation!r}")
        if annotation in (str, bytes):
            return GENERIC
        if not known.check_input_type_annotation(annotation):
            self._fail(
                f'binding type "{name!r}" and dataType "{kind}" in the binding decorator do not match the '
                f"corresponding function parameter's Python type annotation "
                f"{getattr(annotation, '__name__', annotation)}"
            )
        return kind

    def _fail(self, problem: str) -> typing.NoReturn:
        raise FunctionLoadError(self._name, problem)


def _is_out(annotation: object) -> bool:
    return getattr(typing.get_origin(annotation) or annotation, "__name__", "") == "Out"


def _is_generic(annotation: object) -> bool:
    """The worker takes `typing.List[X]` as a generic type, but not `list[X]`."""
    return type(annotation).__module__ == "typing" and typing.get_origin(annotation) not in (
        None,
        typing.Union,
        tuple,
    )
