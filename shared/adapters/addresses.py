"""Where storage and the bus are, read from the platform's settings.

Settings follow the conventions of the Functions host: a connection string under the connection's name, or an
identity-based connection with the name as prefix
(https://learn.microsoft.com/azure/azure-functions/functions-reference#configure-an-identity-based-connection).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.errors import ConfigurationError

STORAGE = "AzureWebJobsStorage"
BUS = "ServiceBusConnection"
_EMULATOR_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The storage emulators' key, published by Microsoft: no secret.
https://learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key"""
EMULATOR = (
    f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={_EMULATOR_KEY};"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_HTTPS = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?(?:/[A-Za-z0-9_-]+)?/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The managed identity to sign in with; `client_id` None is the system-assigned one."""

    client_id: str | None
    managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageAddress:
    """Either a connection string, or endpoints and an identity."""

    connection_string: str | None = field(default=None, repr=False)
    table_uri: str | None = None
    blob_uri: str | None = None
    identity: Identity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BusAddress:
    """Either a connection string, or a namespace's host name and an identity."""

    connection_string: str | None = field(default=None, repr=False)
    namespace: str | None = None
    identity: Identity | None = None


def storage_address(environ: Mapping[str, str], name: str = STORAGE) -> StorageAddress:
    """Where storage is. Raises ConfigurationError that names the settings and never shows a value."""
    plain = environ.get(name, "").strip()
    if plain:
        return StorageAddress(connection_string=EMULATOR if _is_emulator(plain) else _pairs(plain, name))
    account = environ.get(f"{name}__accountName", "").strip()
    if account and not _ACCOUNT.fullmatch(account):
        raise ConfigurationError(f"{name}__accountName: expected 3 to 24 lower-case letters and digits.")
    table = environ.get(f"{name}__tableServiceUri", "").strip() or _endpoint(account, "table")
    blob = environ.get(f"{name}__blobServiceUri", "").strip() or _endpoint(account, "blob")
    if not table or not blob:
        raise ConfigurationError(
            f"{name}: expected a connection string, or {name}__accountName, or both "
            f"{name}__blobServiceUri and {name}__tableServiceUri; found none."
        )
    for part, uri in (("tableServiceUri", table), ("blobServiceUri", blob)):
        if not _HTTPS.fullmatch(uri):
            raise ConfigurationError(f"{name}__{part}: expected an https address without a query.")
    return StorageAddress(table_uri=table, blob_uri=blob, identity=_identity(environ, name))


def bus_address(environ: Mapping[str, str], name: str = BUS) -> BusAddress:
    """Where the bus is. Raises ConfigurationError that names the settings and never shows a value."""
    plain = environ.get(name, "").strip()
    if plain:
        if "endpoint=" not in plain.lower():
            raise ConfigurationError(f"{name}: expected a connection string that begins with Endpoint=sb://.")
        return BusAddress(connection_string=plain)
    namespace = environ.get(f"{name}__fullyQualifiedNamespace", "").strip()
    if not _HOST.fullmatch(namespace):
        raise ConfigurationError(
            f"{name}: expected a connection string, or {name}__fullyQualifiedNamespace with a host name "
            "such as example.servicebus.windows.net."
        )
    return BusAddress(namespace=namespace, identity=_identity(environ, name))


def _identity(environ: Mapping[str, str], name: str) -> Identity:
    client_id = environ.get(f"{name}__clientId", "").strip() or None
    credential = environ.get(f"{name}__credential", "").strip().lower()
    if credential not in ("", "managedidentity"):
        raise ConfigurationError(f"{name}__credential: expected managedidentity, or no such setting.")
    in_azure = "IDENTITY_ENDPOINT" in environ
    return Identity(client_id=client_id, managed=bool(client_id or credential or in_azure))


def _endpoint(account: str, service: str) -> str:
    return f"https://{account}.{service}.core.windows.net" if account else ""


def _is_emulator(text: str) -> bool:
    return "usedevelopmentstorage=true" in text.lower().replace(" ", "")


def _pairs(text: str, name: str) -> str:
    keys = {part.partition("=")[0].strip().lower() for part in text.split(";") if part.strip()}
    if not keys & {"accountname", "tableendpoint", "blobendpoint"}:
        raise ConfigurationError(
            f"{name}: expected a storage connection string with AccountName or endpoints."
        )
    return text
