"""Every link of the stack through a proxy, with the real SDKs: what a cut leaves behind."""

import json
import urllib.request
import uuid
from collections.abc import Iterator
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest
from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.data.tables import TableClient, TableServiceClient
from azure.storage.blob import BlobServiceClient, ContainerClient

from devhost.azurite.emulator import StoragePorts
from devhost.faults.state import Direction, Ending
from devhost.links import LinkError, Links
from devhost.outside.receiver import Receiver
from devhost.ports import LOOPBACK
from tests.support.storage import Azurite

ROW = {"PartitionKey": "p", "RowKey": "r", "value": 7}


@pytest.fixture
def links() -> Iterator[Links]:
    made = Links()
    yield made
    made.close()


def _port(connection_string: str, service: str) -> int:
    fields = dict(field.split("=", 1) for field in connection_string.split(";") if field)
    return urlsplit(fields[f"{service}Endpoint"]).port or 0


@pytest.fixture
def storage(azurite: Azurite, links: Links) -> str:
    """Azurite's connection string, through proxies."""
    blob, table = (_port(azurite.connection_string, name) for name in ("Blob", "Table"))
    return links.storage(StoragePorts(blob=blob, table=table, queue=blob))


@pytest.fixture
def table(azurite: Azurite, storage: str) -> Iterator[TableClient]:
    name = f"t{uuid.uuid4().hex}"
    with TableServiceClient.from_connection_string(azurite.connection_string) as direct:
        direct.create_table(name)
    with TableClient.from_connection_string(storage, name, retry_total=0) as client:
        yield client


@pytest.fixture
def container(azurite: Azurite, storage: str) -> Iterator[ContainerClient]:
    name = f"c{uuid.uuid4().hex}"
    with BlobServiceClient.from_connection_string(azurite.connection_string) as direct:
        direct.create_container(name)
    with ContainerClient.from_connection_string(storage, name, retry_total=0) as client:
        yield client


@pytest.mark.parametrize("ending", list(Ending))
def test_a_write_whose_answer_is_cut_off_is_an_error_and_the_row_is_there(
    links: Links, table: TableClient, ending: Ending
) -> None:
    links.proxies["table"].cut_after(Direction.DOWN, 0, ending)
    with pytest.raises(AzureError):
        table.create_entity(ROW)
    assert links.proxies["table"].cuts == 1
    assert table.get_entity("p", "r")["value"] == 7


def test_a_write_cut_off_on_its_way_up_leaves_no_row(links: Links, table: TableClient) -> None:
    links.proxies["table"].cut_after(Direction.UP, 300)
    with pytest.raises(AzureError):
        table.create_entity(ROW)
    with pytest.raises(ResourceNotFoundError):
        table.get_entity("p", "r")


def test_the_third_of_three_answers_is_lost_and_all_three_rows_are_there(
    links: Links, table: TableClient
) -> None:
    links.proxies["table"].lose_answers(1, skip=2)
    for key in ("a", "b"):
        table.create_entity({**ROW, "RowKey": key})
    with pytest.raises(AzureError):
        table.create_entity({**ROW, "RowKey": "c"})
    assert sorted(row["RowKey"] for row in table.list_entities()) == ["a", "b", "c"]


def test_an_upload_cut_in_the_middle_leaves_no_blob(links: Links, container: ContainerClient) -> None:
    links.proxies["blob"].cut_after(Direction.UP, 500_000)
    with pytest.raises(AzureError):
        container.upload_blob("a.bin", bytes(1_000_000))
    assert list(container.list_blob_names()) == []


def test_a_download_cut_in_the_middle_is_taken_up_again_by_the_sdk(
    links: Links, container: ContainerClient
) -> None:
    content = bytes(range(250)) * 4_000
    container.upload_blob("a.bin", content)
    links.proxies["blob"].cut_after(Direction.DOWN, 500_000)
    assert container.download_blob("a.bin").readall() == content
    assert links.proxies["blob"].cuts == 1


def test_storage_in_a_black_hole_answers_nothing_until_healed(links: Links, table: TableClient) -> None:
    links.proxies["table"].black_hole()
    with pytest.raises(AzureError):
        table.create_entity(ROW, read_timeout=0.3)
    links.proxies["table"].heal()
    table.create_entity(ROW)


def test_the_port_of_storage_queues_has_a_proxy_too(links: Links, azurite: Azurite) -> None:
    answering = _port(azurite.connection_string, "Blob")
    through = links.storage(StoragePorts(blob=1, table=1, queue=answering))
    address = f"http://{LOOPBACK}:{_port(through, 'Queue')}/devstoreaccount1?comp=list"
    with pytest.raises(URLError, match="HTTP Error 40"):  # answered: it asks for a signature
        urllib.request.urlopen(address, timeout=60)
    links.proxies["queue"].refuse()
    with pytest.raises(URLError, match="refused"):
        urllib.request.urlopen(address, timeout=60)


def test_a_post_to_the_outside_whose_answer_is_lost_took_effect(links: Links) -> None:
    with Receiver() as shop:
        through = links.outside({"SHOP_URL": shop.url})["SHOP_URL"]
        assert (through != shop.url, urlsplit(through).path) == (True, "/alerts")
        links.proxies["SHOP_URL"].lose_answers()
        body = json.dumps({"order": 1}).encode()
        with pytest.raises(OSError, match="reset"):
            urllib.request.urlopen(through, body, timeout=60)
        assert shop.next(60) == '{"order": 1}'


@pytest.mark.parametrize("address", ["https://127.0.0.1:1/x", "127.0.0.1:1", "amqp://127.0.0.1:1"])
def test_an_address_that_no_proxy_can_stand_before_is_refused(links: Links, address: str) -> None:
    with pytest.raises(LinkError, match=r"SHOP_URL: .* expected http://"):
        links.outside({"SHOP_URL": address})
