"""The app settings, read once and lazily: importing or indexing the app needs none of them.

Secrets are never shown in a problem's text. Connection settings follow the platform's conventions
(https://learn.microsoft.com/azure/azure-functions/functions-reference#connections); the adapters read
them, here only their absence is reported.
"""

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from shared.problems import Problem, configuration_error, shown

APP_ROOT = Path(__file__).resolve().parent.parent
UNRESOLVED_REFERENCE = "@Microsoft.KeyVault("
_HOST = re.compile(r"(?:[a-z0-9_][a-z0-9_.-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?", re.ASCII)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_QUEUE_NAME = r"^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$"


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("not a web address")
    return text.rstrip("/")


def _private_address(secret: SecretStr) -> SecretStr:
    parts = urlsplit(secret.get_secret_value())
    local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or local):
        raise ValueError("not an https address")
    return secret


_API_ADDRESS = "an https address (http only to this machine) without query"

_API_KEY = "an API key of printable ASCII characters, without spaces"


def _api_key(secret: SecretStr) -> SecretStr:
    """It becomes a header."""
    text = secret.get_secret_value()
    if not all("!" <= character <= "~" for character in text):
        raise ValueError("not an API key")
    return secret


def _api_address(text: str) -> str:
    """Keys go there, so http is for this machine alone."""
    parts = urlsplit(text)
    local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or local) or "@" in parts.netloc:
        raise ValueError("not an https address")
    return _web_address(text)


def _host_list(value: object) -> object:
    """From text with commas between."""
    if not isinstance(value, str):
        return value
    hosts = tuple(host.strip().lower() for host in value.split(",") if host.strip())
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise ValueError("not host names")
    return hosts


class Settings(BaseModel):
    """Every setting but the connections and the sources' secrets. Seconds are whole seconds."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)

    jobs_queue: Annotated[
        str,
        Field(
            validation_alias="JOBS_QUEUE",
            pattern=_QUEUE_NAME,
            description="a queue name of letters, digits and . _ - / (at most 260)",
        ),
    ] = "ai-jobs"
    pipeline_path: Annotated[
        Path,
        Field(
            validation_alias="AFTERHOOK_PIPELINE",
            description="the path of a pipeline.toml",
        ),
        AfterValidator(lambda path: APP_ROOT / path),
    ] = APP_ROOT / "pipeline.toml"
    alert_webhook_url: Annotated[
        SecretStr | None,
        Field(
            validation_alias="ALERT_WEBHOOK_URL",
            description="an https address (http only to this machine)",
        ),
        AfterValidator(lambda url: url and _private_address(url)),
    ] = None
    public_base_url: Annotated[
        str | None,
        Field(
            validation_alias="PUBLIC_BASE_URL",
            description='a web address without query, such as "https://example.com"',
        ),
        AfterValidator(lambda url: url and _web_address(url)),
    ] = None
    ai_provider: Annotated[
        Literal["builtin", "openai", "azure"],
        Field(validation_alias="AI_PROVIDER", description='"builtin", "openai" or "azure"'),
    ] = "builtin"
    ai_base_url: Annotated[
        str | None,
        Field(validation_alias="AI_BASE_URL", description=_API_ADDRESS),
        AfterValidator(lambda url: url and _api_address(url)),
    ] = None
    ai_model: Annotated[
        str | None,
        Field(
            validation_alias="AI_MODEL",
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$",
            description="the name of a model, or of a deployment (letters, digits and . _ : / @ -)",
        ),
    ] = None
    ai_api_key: Annotated[
        SecretStr | None,
        Field(validation_alias="AI_API_KEY", description=_API_KEY),
        AfterValidator(lambda key: key and _api_key(key)),
    ] = None
    video_base_url: Annotated[
        str | None,
        Field(validation_alias="VIDEO_BASE_URL", description=_API_ADDRESS),
        AfterValidator(lambda url: url and _api_address(url)),
    ] = None
    video_api_key: Annotated[
        SecretStr | None,
        Field(validation_alias="VIDEO_API_KEY", description=_API_KEY),
        AfterValidator(lambda key: key and _api_key(key)),
    ] = None
    private_hosts: Annotated[
        tuple[str, ...],
        Field(
            validation_alias="AFTERHOOK_PRIVATE_HOSTS",
            description='host names, each with a port if only that one, such as "127.0.0.1, inner:8443"',
        ),
        BeforeValidator(_host_list),
    ] = ()
    lease_margin_seconds: Annotated[
        int,
        Field(
            validation_alias="LEASE_MARGIN_SECONDS",
            ge=1,
            le=600,
            description="whole seconds from 1 to 600",
        ),
    ] = 30
    sweep_grace_seconds: Annotated[
        int,
        Field(
            validation_alias="SWEEP_GRACE_SECONDS",
            ge=1,
            le=86_400,
            description="whole seconds from 1 to 86400",
        ),
    ] = 60
    operator_auth: Annotated[
        Literal["key"],
        Field(
            validation_alias="OPERATOR_AUTH",
            description='"key" (this version has no other way)',
        ),
    ] = "key"
    pseudonym_key: Annotated[
        SecretStr | None,
        Field(
            validation_alias="AFTERHOOK_PSEUDONYM_KEY",
            min_length=16,
            description="a secret of at least 16 characters",
        ),
    ] = None
    callback_key: Annotated[
        SecretStr | None,
        Field(
            validation_alias="AFTERHOOK_CALLBACK_KEY",
            min_length=32,
            description="a secret of at least 32 characters",
        ),
    ] = None
    worker_name: Annotated[str, Field(min_length=1, max_length=64)] = "local"


def load_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ` (empty counts as none). Raises ConfigurationError with every problem."""
    settings, problems = read_settings(environ)
    if problems:
        raise configuration_error(problems)
    return settings


def read_settings(environ: Mapping[str, str]) -> tuple[Settings, list[Problem]]:
    """The settings, with the default for each that cannot be read, and every problem."""
    given = {name: value for name in _names() if (value := environ.get(name, "").strip())}
    problems = [*_unresolved(environ), *_missing_connections(environ)]
    named = {"worker_name": worker_name(environ)}
    try:
        settings = Settings.model_validate(given | named)
        return settings, [*problems, *_missing_for_ai(settings)]
    except ValidationError as error:
        wrong = error.errors(include_url=False)
    problems += [_problem(details) for details in wrong]
    for details in wrong:
        given.pop(str(details["loc"][0]), None)
    return Settings.model_validate(given | named), problems


def worker_name(environ: Mapping[str, str]) -> str:
    """The instance's name for people: as the platform gives it, otherwise this machine's."""
    for name in ("WEBSITE_INSTANCE_ID", "CONTAINER_NAME"):
        if value := environ.get(name, "").strip():
            return value[:32]
    return (socket.gethostname() or "local")[:32]


def _names() -> Iterator[str]:
    for field in Settings.model_fields.values():
        if isinstance(field.validation_alias, str):
            yield field.validation_alias


def _problem(details: Mapping[str, Any]) -> Problem:
    where = str(details["loc"][0])
    field = next(f for f in Settings.model_fields.values() if f.validation_alias == where)
    # A password can stand before the @ of an address.
    secret = "SecretStr" in str(field.annotation) or "@" in str(details["input"])
    found = "something else (a secret, not shown)" if secret else shown(details["input"])
    return Problem(where, field.description or "another value", found)


def _unresolved(environ: Mapping[str, str]) -> Iterator[Problem]:
    for name in (*_names(), "AzureWebJobsStorage", "ServiceBusConnection"):
        if environ.get(name, "").startswith(UNRESOLVED_REFERENCE):
            expected = "a value the platform could read from Key Vault"
            yield Problem(name, expected, "a reference that it did not resolve")


def _missing_for_ai(settings: Settings) -> Iterator[Problem]:
    """What the chosen provider cannot do without; an OpenAI-compatible service may need no key."""
    if settings.ai_provider == "builtin":
        return
    chosen = f"because AI_PROVIDER is {settings.ai_provider}"
    if settings.ai_model is None:
        yield Problem("AI_MODEL", f"the name of a model, {chosen}", "none")
    if settings.ai_provider == "azure" and settings.ai_base_url is None:
        address = "https://NAME.openai.azure.com/openai/v1"
        yield Problem("AI_BASE_URL", f'an address such as "{address}", {chosen}', "none")
    if settings.ai_provider == "openai" and settings.ai_base_url is None and settings.ai_api_key is None:
        yield Problem("AI_API_KEY", f"an API key, {chosen}", "none")


def _missing_connections(environ: Mapping[str, str]) -> Iterator[Problem]:
    def given(*names: str) -> bool:
        return all(environ.get(name, "").strip() for name in names)

    storage = "AzureWebJobsStorage"
    if not (
        given(storage)
        or given(f"{storage}__accountName")
        or given(f"{storage}__blobServiceUri", f"{storage}__tableServiceUri")
    ):
        expected = f"a connection string, or the setting {storage}__accountName"
        yield Problem(storage, expected, "neither")
    bus = "ServiceBusConnection"
    if not (given(bus) or given(f"{bus}__fullyQualifiedNamespace")):
        expected = f"a connection string, or the setting {bus}__fullyQualifiedNamespace"
        yield Problem(bus, expected, "neither")
