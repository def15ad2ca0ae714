"""The Azurite process: blobs and tables on fixed ports, data under one folder."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devhost.azurite import install
from devhost.parts import PartSpec
from devhost.ports import LOOPBACK, free_ports

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and key every storage emulator has, published by Microsoft in Azurite's README; no secret."""

KEEP_ALIVE_SECONDS = 120
"""Azurite drops idle connections after 5 s unless told otherwise; Azure Storage outlasts clients' pools."""

_UNUSED = Path(__file__).with_name("unused.cjs")
_LISTENING = re.compile(r"Azurite Table service is successfully listening")


@dataclass(frozen=True, slots=True)
class StoragePorts:
    """Where the three services listen. Afterhook uses no storage queues, but Azurite starts them too."""

    blob: int
    table: int
    queue: int


def connection_string(blob: int, table: int, queue: int | None = None) -> str:
    """What every storage SDK takes, for these ports."""
    ports = {"Blob": blob, "Table": table, "Queue": queue}
    endpoints = "".join(
        f"{service}Endpoint=http://{LOOPBACK}:{port}/{ACCOUNT};"
        for service, port in ports.items()
        if port is not None
    )
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};{endpoints}"


def spec(home: Path, data: Path, ports: StoragePorts, log: Path, *, in_memory: bool = False) -> PartSpec:
    """How to start Azurite, installed in `home`, with its data in `data`, or nowhere but in its memory."""
    install.require(home)
    data.mkdir(parents=True, exist_ok=True)
    arguments: dict[str, object] = {
        "--blobPort": ports.blob,
        "--tablePort": ports.table,
        "--queuePort": ports.queue,
        "--blobKeepAliveTimeout": KEEP_ALIVE_SECONDS,
        "--tableKeepAliveTimeout": KEEP_ALIVE_SECONDS,
    }
    place = ["--inMemoryPersistence"] if in_memory else ["--location", str(data)]
    return PartSpec(
        name="azurite",
        command=[
            str(install.node()),
            "--require",
            str(_UNUSED),
            str(install.main_script(home)),
            *(str(word) for pair in arguments.items() for word in pair),
            *place,
            "--silent",
            "--loose",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ],
        read_ready=_read_ready,
        log=log,
        cwd=data,
    )


def _read_ready(line: str) -> Mapping[str, object] | None:
    return {} if _LISTENING.search(line) else None  # the table service is the last of the three to start


def free_storage_ports() -> StoragePorts:
    """Three free ports."""
    return StoragePorts(*free_ports(3))
