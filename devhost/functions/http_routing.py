"""Which function answers a request: the app's HTTP functions, their routes, methods and auth levels.

Routes are tried in the order of the function names, and the first match wins; a wrong method is no match, so
it ends as 404. Sources: WebScriptHostHttpRoutesManager and FunctionMetadataNameComparer in
Azure/azure-functions-host, and https://github.com/Azure/azure-functions-host/issues/9876.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from devhost.functions.definitions import HTTP_TRIGGER, FunctionDefinition
from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.keys import AuthLevel
from devhost.functions.routes import RouteTemplate

_RESERVED = ("admin", "runtime")
_SECRET = frozenset({"code", "key", "secret", "sig", "signature", "token"})


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """One HTTP function's way in."""

    function: FunctionDefinition
    template: RouteTemplate
    methods: frozenset[str] | None
    """None: every method."""
    auth_level: AuthLevel


class Router:
    """The routes of an app. Raises StartError for routes the host would refuse."""

    def __init__(self, functions: Iterable[FunctionDefinition], prefix: str) -> None:
        self._prefix = prefix
        self.routes: list[HttpRoute] = []
        problems: list[str] = []
        for function in functions:
            if function.trigger_type == HTTP_TRIGGER:
                try:
                    self._add(function)
                except StartError as error:
                    problems += error.problems
        if problems:
            raise StartError(problems)

    def find(self, method: str, path: str) -> tuple[HttpRoute, dict[str, str]] | None:
        """The first route that takes this method and path, with the route's parameters; None is a 404.

        `/admin` and `/runtime` belong to the host.
        """
        first = path.strip("/").split("/", 1)[0].lower()
        if first in _RESERVED:
            return None
        for route in self.routes:
            if route.methods is None or method in route.methods:
                values = route.template.match(path)
                if values is not None:
                    return route, values
        return None

    def shown(self, path: str) -> str:
        """The path as a log may have it: without parameters whose names say that they are secret.

        Neither the method nor the rest of the path matters: a call that is refused shows no secret either.
        """
        masked = (route.template.masked(path, _SECRET) for route in self.routes)
        return next((text for text in masked if text is not None), path)

    def _add(self, function: FunctionDefinition) -> None:
        own = str(function.trigger.get("route") or function.name).strip("/")
        if own.lower().startswith(_RESERVED):
            raise FunctionLoadError(
                function.name, "The specified route conflicts with one or more built in routes."
            )
        methods = function.trigger.get("methods")
        try:
            route = HttpRoute(
                function=function,
                template=RouteTemplate("/".join(part for part in (self._prefix, own) if part)),
                methods=frozenset(str(m).upper() for m in methods) if methods else None,
                auth_level=AuthLevel(str(function.trigger.get("authLevel", "function")).lower()),
            )
        except ValueError as error:
            raise FunctionLoadError(function.name, str(error)) from None
        for other in self.routes:
            if _conflict(route, other):
                raise FunctionLoadError(
                    function.name,
                    "The route specified conflicts with the route defined by function "
                    f"'{other.function.name}'.",
                )
        self.routes.append(route)


def _conflict(one: HttpRoute, other: HttpRoute) -> bool:
    if one.template.template.lower() != other.template.template.lower():
        return False
    return one.methods is None or other.methods is None or bool(one.methods & other.methods)
