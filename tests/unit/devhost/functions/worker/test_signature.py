"""Signatures against bindings: accepted and refused as the Python worker does."""

import typing
from collections.abc import Callable
from typing import Any

import azure.functions as func
import pytest

from devhost.functions.errors import FunctionLoadError
from devhost.functions.worker.signature import SignatureCheck

HTTP = [
    {"name": "req", "type": "httpTrigger", "direction": "IN"},
    {"name": "$return", "type": "http", "direction": "OUT"},
]
QUEUE = [{"name": "msg", "type": "serviceBusTrigger", "direction": "IN"}]


def _check(call: Callable[..., Any], bindings: list[dict[str, str]]) -> SignatureCheck:
    return SignatureCheck("fn", call, bindings)


def test_a_fitting_signature_names_each_parameters_converter() -> None:
    def call(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        raise NotImplementedError

    check = _check(call, HTTP)
    assert check.check_parameters() == {"req": "httpTrigger"}
    assert check.check_return() == ("http", func.HttpResponse)
    assert check.requires_context()


def test_annotations_may_be_missing_or_text() -> None:
    def bare(req, context): ...  # type: ignore[no-untyped-def]  # no annotations is the case here

    def texts(req: "func.HttpRequest") -> "str":
        raise NotImplementedError

    assert _check(bare, HTTP).check_parameters() == {"req": "httpTrigger"}
    assert _check(bare, HTTP).check_return() == ("http", None)
    assert _check(texts, HTTP).check_return() == ("http", str)


@pytest.mark.parametrize("kind", [str, bytes])
def test_str_and_bytes_take_the_data_itself(kind: type) -> None:
    def call(msg: object) -> None: ...

    call.__annotations__["msg"] = kind
    assert _check(call, QUEUE).check_parameters() == {"msg": "generic"}


def test_a_typing_list_of_messages_fits_and_a_builtin_list_does_not() -> None:
    def old(msg: typing.List[func.ServiceBusMessage]) -> None: ...  # noqa: UP006 - the difference is the case here

    def new(msg: list[func.ServiceBusMessage]) -> None: ...

    assert _check(old, QUEUE).check_parameters() == {"msg": "serviceBusTrigger"}
    with pytest.raises(FunctionLoadError, match="invalid non-type annotation"):
        _check(new, QUEUE).check_parameters()


def test_an_optional_or_out_parameter_is_refused() -> None:
    def optional(req: func.HttpRequest | None) -> func.HttpResponse:
        raise NotImplementedError

    def out(req: func.Out[str]) -> func.HttpResponse:
        raise NotImplementedError

    with pytest.raises(FunctionLoadError, match="invalid non-type annotation"):
        _check(optional, HTTP).check_parameters()
    with pytest.raises(FunctionLoadError, match=r"its annotation is azure\.functions\.Out"):
        _check(out, HTTP).check_parameters()


def test_a_return_type_the_binding_cannot_take_is_refused() -> None:
    def nothing(req: func.HttpRequest) -> None: ...

    def union(req: func.HttpRequest) -> func.HttpResponse | str:
        raise NotImplementedError

    with pytest.raises(FunctionLoadError, match='"NoneType" does not match binding type "http"'):
        _check(nothing, HTTP).check_return()
    with pytest.raises(FunctionLoadError, match="invalid non-type return annotation"):
        _check(union, HTTP).check_return()


def test_an_annotation_that_names_nothing_is_refused() -> None:
    def call(req: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the missing name is the case

    with pytest.raises(NameError, match="name 'NoSuchType' is not defined"):
        _check(call, HTTP)


@pytest.mark.parametrize(
    ("name", "direction", "sentence"),
    [("req", "INOUT", '"inout" bindings'), ("$return", "IN", "must have direction")],
)
def test_a_binding_with_a_wrong_direction_is_refused(name: str, direction: str, sentence: str) -> None:
    def call(req: func.HttpRequest) -> func.HttpResponse:
        raise NotImplementedError

    bindings = [b | {"direction": direction} if b["name"] == name else b for b in HTTP]
    with pytest.raises(FunctionLoadError, match=sentence):
        _check(call, bindings).check_parameters()
