"""Which function answers, and what a log may show of the path."""

from typing import Any

import pytest

from devhost.functions.definitions import FunctionDefinition
from devhost.functions.http_routing import Router


def router(*routes: str) -> Router:
    def function(route: str) -> FunctionDefinition:
        trigger: dict[str, Any] = {
            "type": "httpTrigger",
            "name": "req",
            "route": route,
            "methods": ["post"],
        }
        return FunctionDefinition(id=route, name=route, trigger=trigger, has_return=True)

    return Router(map(function, routes), "api")


@pytest.mark.parametrize(
    ("route", "path", "shown"),
    [
        ("callbacks/{token}", "/api/callbacks/v1.abc.def", "/api/callbacks/***"),
        ("callbacks/{token}", "/API/Callbacks/v1.abc.def/", "/API/Callbacks/***"),
        ("callbacks/{token}", "/api/callbacks/v1.abc.def/more/of it", "/api/callbacks/***"),
        ("callbacks/{Token}", "/api/callbacks/v1.abc.def", "/api/callbacks/***"),
        ("links/{job}/{sig}", "/api/links/job_1/v1.abc.def", "/api/links/job_1/***"),
        ("files/{name}.{key}", "/api/files/a.secret", "/api/files/***"),
        ("rest/{*secret}", "/api/rest/a/b", "/api/rest/***"),
        ("jobs/{job_id}", "/api/jobs/job_1", "/api/jobs/job_1"),
        ("callbacks/{token}", "/elsewhere/a", "/elsewhere/a"),
        ("callbacks/{token}", "/api/callbacks/", "/api/callbacks/"),
        ("callbacks/{token}", "/api/callbacks/a", "/api/callbacks/***"),
        ("callbacks/{token}", "/", "/"),
    ],
)
def test_a_log_shows_no_value_of_a_secret_parameter(route: str, path: str, shown: str) -> None:
    assert router(route).shown(path) == shown


def test_a_call_that_no_function_takes_shows_no_secret_either() -> None:
    routes = router("callbacks/{token}")
    assert routes.find("GET", "/api/callbacks/v1.abc") is None
    assert routes.shown("/api/callbacks/v1.abc") == "/api/callbacks/***"
