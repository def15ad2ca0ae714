"""Connection settings by the platform's conventions."""

import pytest

from shared.adapters.addresses import EMULATOR, Identity, bus_address, storage_address
from shared.adapters.connections import Connections
from shared.errors import ConfigurationError

_PLAIN = "DefaultEndpointsProtocol=https;AccountName=docs;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net"
_BUS = "Endpoint=sb://localhost;SharedAccessKeyName=a;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;"


def test_a_connection_string_is_taken_as_it_is() -> None:
    assert storage_address({"AzureWebJobsStorage": f" {_PLAIN}\n"}).connection_string == _PLAIN
    assert bus_address({"ServiceBusConnection": _BUS}).connection_string == _BUS


@pytest.mark.parametrize("text", ["UseDevelopmentStorage=true", "usedevelopmentstorage = True;"])
def test_development_storage_is_the_emulator_on_its_usual_ports(text: str) -> None:
    assert storage_address({"AzureWebJobsStorage": text}).connection_string == EMULATOR
    assert ":10002/" in EMULATOR


def test_an_account_name_gives_the_endpoints() -> None:
    found = storage_address({"AzureWebJobsStorage__accountName": "docs1"})
    assert found.connection_string is None
    assert found.table_uri == "https://docs1.table.core.windows.net"
    assert found.blob_uri == "https://docs1.blob.core.windows.net"
    assert found.identity == Identity(client_id=None, managed=False)


def test_service_addresses_are_taken_before_the_account_name() -> None:
    found = storage_address(
        {
            "AzureWebJobsStorage__accountName": "docs1",
            "AzureWebJobsStorage__tableServiceUri": "https://docs1.table.core.chinacloudapi.cn",
            "AzureWebJobsStorage__blobServiceUri": "https://docs1.blob.core.chinacloudapi.cn/",
        }
    )
    assert found.table_uri == "https://docs1.table.core.chinacloudapi.cn"
    assert found.blob_uri == "https://docs1.blob.core.chinacloudapi.cn/"


@pytest.mark.parametrize(
    ("settings", "identity"),
    [
        ({}, Identity(client_id=None, managed=False)),
        ({"ServiceBusConnection__clientId": "c-1"}, Identity(client_id="c-1", managed=True)),
        ({"ServiceBusConnection__credential": "managedIdentity"}, Identity(client_id=None, managed=True)),
        ({"IDENTITY_ENDPOINT": "http://x"}, Identity(client_id=None, managed=True)),
    ],
)
def test_the_identity_follows_its_settings(settings: dict[str, str], identity: Identity) -> None:
    namespace = {"ServiceBusConnection__fullyQualifiedNamespace": "docs.servicebus.windows.net"}
    found = bus_address({**namespace, **settings})
    assert (found.namespace, found.identity) == ("docs.servicebus.windows.net", identity)


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, "AzureWebJobsStorage: expected a connection string"),
        ({"AzureWebJobsStorage": "https://secret.example"}, "AzureWebJobsStorage: expected a storage"),
        ({"AzureWebJobsStorage__accountName": "Not-An-Account"}, "AzureWebJobsStorage__accountName"),
        ({"AzureWebJobsStorage__blobServiceUri": "https://a.example"}, "__tableServiceUri"),
        (
            {
                "AzureWebJobsStorage__blobServiceUri": "https://a.example?sig=secret",
                "AzureWebJobsStorage__tableServiceUri": "https://a.example",
            },
            "AzureWebJobsStorage__blobServiceUri: expected an https address",
        ),
        (
            {"AzureWebJobsStorage__accountName": "docs1", "AzureWebJobsStorage__credential": "password"},
            "AzureWebJobsStorage__credential: expected managedidentity",
        ),
    ],
)
def test_a_wrong_storage_setting_is_named_and_its_value_never_shown(
    environ: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        storage_address(environ)
    assert named in str(caught.value)
    assert not any(value in str(caught.value) for value in environ.values())


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ServiceBusConnection": "secret"},
        {"ServiceBusConnection__fullyQualifiedNamespace": "sb://docs.servicebus.windows.net/"},
    ],
)
def test_a_wrong_bus_setting_is_named_and_its_value_never_shown(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="ServiceBusConnection") as caught:
        bus_address(environ)
    assert not any(value in str(caught.value) for value in environ.values())


def test_every_problem_of_both_connections_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Connections.from_environ({})
    assert "AzureWebJobsStorage" in str(caught.value)
    assert "ServiceBusConnection" in str(caught.value)


def test_secrets_are_in_no_repr() -> None:
    assert "c2VjcmV0" not in repr(storage_address({"AzureWebJobsStorage": _PLAIN}))
    assert "c2VjcmV0" not in repr(bus_address({"ServiceBusConnection": _BUS}))


async def test_clients_are_made_once_and_closed() -> None:
    connections = Connections.from_environ(
        {
            "AzureWebJobsStorage__accountName": "docs1",
            "ServiceBusConnection__fullyQualifiedNamespace": "docs.servicebus.windows.net",
            "IDENTITY_ENDPOINT": "http://127.0.0.1:1",
        }
    )
    assert connections.tables() is connections.tables()
    table = connections.table("jobs")
    assert connections.table("jobs") is table
    assert connections.table("open") is not table
    assert connections.blobs() is connections.blobs()
    assert connections.service_bus() is connections.service_bus()
    await connections.aclose()
    await connections.aclose()
    assert connections.table("jobs") is not table
    await connections.aclose()
