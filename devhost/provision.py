"""Makes the application's tables and containers, as its infrastructure would before the first webhook."""

import contextlib
from collections.abc import Sequence

from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

CONTAINERS = ("inputs", "results", "protected")
TABLES = ("jobs", "open", "cases", "groups", "limits", "ended", "reviews")


def provision(storage: str, containers: Sequence[str] = CONTAINERS, tables: Sequence[str] = TABLES) -> None:
    """Make what is missing in the storage account with this connection string. Idempotent."""
    with BlobServiceClient.from_connection_string(storage) as blobs:
        for container in containers:
            with contextlib.suppress(ResourceExistsError):
                blobs.create_container(container)
    with TableServiceClient.from_connection_string(storage) as service:
        for table in tables:
            service.create_table_if_not_exists(table)
