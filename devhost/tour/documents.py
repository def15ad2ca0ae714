"""The tour's documents, put where an uploader would put them: into blob storage, outside the app."""

from pathlib import Path

from azure.storage.blob import BlobServiceClient

_HERE = Path(__file__).resolve().parent
CONTAINER = "inputs"
FOLDER = "documents"
REPORT = _HERE / "harbour-plan.pdf"
PICTURE = _HERE / "harbour-plan.png"


def put(storage: str, document: Path) -> str:
    """Store the file under `inputs/documents/`; the reference a webhook names it by. Idempotent.

    The container must be there.
    """
    path = f"{FOLDER}/{document.name}"
    with (
        BlobServiceClient.from_connection_string(storage) as service,
        service.get_container_client(CONTAINER) as container,
    ):
        container.upload_blob(path, document.read_bytes(), overwrite=True)
    return f"{CONTAINER}/{path}"
