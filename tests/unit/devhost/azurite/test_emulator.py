"""The Azurite process, through the unmodified storage SDKs."""

import uuid

from azure.data.tables.aio import TableServiceClient
from azure.storage.blob.aio import BlobServiceClient

from tests.support.storage import Azurite


async def test_a_table_row_written_through_the_sdk_is_read_back(azurite: Azurite) -> None:
    name = f"t{uuid.uuid4().hex}"
    async with TableServiceClient.from_connection_string(azurite.connection_string) as service:
        table = await service.create_table(name)
        async with table:
            await table.create_entity({"PartitionKey": "p", "RowKey": "r", "value": 7})
            assert (await table.get_entity("p", "r"))["value"] == 7


async def test_a_blob_written_through_the_sdk_is_read_back(azurite: Azurite) -> None:
    async with (
        BlobServiceClient.from_connection_string(azurite.connection_string) as service,
        service.get_container_client(f"c{uuid.uuid4().hex}") as container,
    ):
        await container.create_container()
        await container.upload_blob("a/b.txt", b"seven")
        assert await (await container.download_blob("a/b.txt")).readall() == b"seven"
