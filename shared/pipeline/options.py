"""The keys in a source's table that belong to its scheme: read by the scheme's own model."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from shared.pipeline.document import option_keys
from shared.pipeline.lines import Path
from shared.pipeline.misfits import Misfit
from shared.pipeline.model import Users
from shared.problems import shown
from shared.webhooks.base import Options
from shared.webhooks.registry import scheme_named, scheme_names

Table = Mapping[str, Any]


def split_options(raw: Table) -> tuple[dict[str, Any], dict[str, tuple[str, dict[str, Any]]]]:
    """The document without its sources' options, and these by source, with the name of the scheme.

    What has the wrong shape stays in the document, whose model then says so.
    """
    given: dict[str, tuple[str, dict[str, Any]]] = {}
    sources = raw.get("sources")
    if not isinstance(sources, dict):
        return dict(raw), given
    common: dict[str, Any] = {}
    for name, source in sources.items():
        common[name] = source
        scheme = source.get("scheme") if isinstance(source, dict) else None
        if scheme not in scheme_names():
            continue
        own = option_keys(scheme)
        common[name] = {key: value for key, value in source.items() if key not in own}
        given[name] = (str(scheme), {key: value for key, value in source.items() if key in own})
    return {**raw, "sources": common}, given


def read_options(
    given: Mapping[str, tuple[str, Table]],
) -> tuple[dict[str, Options], list[dict[str, Any]]]:
    """Each source's options, and pydantic's account of what is wrong with them, located in the document."""
    found: dict[str, Options] = {}
    wrong: list[dict[str, Any]] = []
    for name, (scheme, table) in given.items():
        try:
            found[name] = scheme_named(scheme).options.model_validate(table)
        except ValidationError as error:
            wrong.extend(
                {**details, "loc": ("sources", name, *details["loc"])}
                for details in error.errors(include_url=False)
            )
    return found, wrong


def option_misfits(raw: Table, options: Mapping[str, Options]) -> Iterator[Misfit]:
    """What does not fit between a source's options and its common keys."""
    for name, found in options.items():
        source = raw["sources"][name]
        path: Path = ("sources", name)
        scheme = scheme_named(source["scheme"])
        if "tolerance" in source and not scheme.signs_time(found):
            expected = f'no such key: scheme "{scheme.name}" signs no time'
            yield Misfit((*path, "tolerance"), expected, shown(source["tolerance"]))
        secrets = source.get("secrets", [])
        if isinstance(secrets, list) and secrets and not scheme.takes_secrets(found):
            why = ' beside "token"' if "token" in source else ""
            expected = f'no such key: scheme "{scheme.name}" has no secrets{why}'
            yield Misfit((*path, "secrets"), expected, str(len(secrets)))
        if scheme.users_are_numbers and source.get("users") == Users.IDS:
            expected = f'no such key: scheme "{scheme.name}" names people by their telephone numbers'
            yield Misfit((*path, "users"), expected, shown(source["users"]))
        if scheme.wants_secrets(found) and secrets == []:
            yield Misfit((*path, "secrets"), "the names of 1 to 5 app settings", "none")


def scheme_at(raw: Table, path: Path) -> object:
    """The scheme of the source that `path` lies in, or None."""
    match path:
        case ("sources", str(name), *_):
            return raw["sources"][name].get("scheme")
        case _:
            return None
