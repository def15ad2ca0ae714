"""Tables and containers are there before the application asks for them."""

import inspect
import uuid

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from devhost.provision import TABLES, provision
from shared.adapters.breakers_table import BreakersTable
from shared.adapters.budgets_table import BudgetsTable
from shared.adapters.cases_table import CasesTable
from shared.adapters.groups_table import GroupsTable
from shared.adapters.jobs_table import JobsTable
from shared.adapters.open_table import OpenTable
from shared.adapters.retention_table import RetentionTable
from shared.adapters.reviews_table import ReviewsTable
from shared.adapters.slots_table import SlotsTable
from tests.support.storage import Azurite


def test_what_is_missing_is_made_and_what_is_there_stays(azurite: Azurite) -> None:
    name = f"p{uuid.uuid4().hex}"
    storage = azurite.connection_string
    provision(storage, [name], [name])
    with BlobServiceClient.from_connection_string(storage) as blobs:
        with blobs.get_blob_client(name, "kept.md") as blob:
            blob.upload_blob(b"kept")
        provision(storage, [name], [name])
        with blobs.get_blob_client(name, "kept.md") as blob:
            assert blob.exists()
    with TableServiceClient.from_connection_string(storage) as tables:
        assert [table.name for table in tables.query_tables(f"TableName eq '{name}'")] == [name]


def test_the_tables_are_those_of_the_application() -> None:
    made = (
        JobsTable,
        OpenTable,
        CasesTable,
        GroupsTable,
        BreakersTable,
        BudgetsTable,
        SlotsTable,
        RetentionTable,
        ReviewsTable,
    )
    used = [inspect.signature(table.__init__).parameters["table"].default for table in made]
    assert list(TABLES) == list(dict.fromkeys(used))
