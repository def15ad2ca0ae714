"""The schemes there are, by the name that pipeline.toml gives them."""

from collections.abc import Mapping
from typing import Any

from shared.webhooks.base import Scheme
from shared.webhooks.github import GitHub
from shared.webhooks.standard import Standard

_SCHEMES: Mapping[str, Scheme[Any]] = {scheme.name: scheme for scheme in (GitHub(), Standard())}


def scheme_names() -> tuple[str, ...]:
    return tuple(sorted(_SCHEMES))


def scheme_named(name: str) -> Scheme[Any]:
    """The scheme called `name`. Raises KeyError; pipeline.toml is checked for it when it is read."""
    return _SCHEMES[name]
