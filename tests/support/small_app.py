"""A small Functions app, to try the local stack without Afterhook itself."""

from pathlib import Path

from devhost.paths import ROOT
from devhost.stack import StackOptions

_APP = """
import os
import azure.functions as func
from azure.data.tables.aio import TableServiceClient
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus import ServiceBusMessage

app = func.FunctionApp()

@app.route("write/{name}", auth_level=func.AuthLevel.ANONYMOUS, methods=["POST"])
async def write(req: func.HttpRequest) -> func.HttpResponse:
    storage = os.environ["AzureWebJobsStorage"]
    async with TableServiceClient.from_connection_string(storage, retry_total=0) as tables:
        await tables.create_table_if_not_exists(req.route_params["name"])
    return func.HttpResponse(str(os.getpid()))

@app.route("send", auth_level=func.AuthLevel.FUNCTION, methods=["POST"])
async def send(req: func.HttpRequest) -> func.HttpResponse:
    connection = os.environ["ServiceBusConnection"]
    async with ServiceBusClient.from_connection_string(connection, retry_total=0) as bus:
        async with bus.get_queue_sender("ai-jobs") as sender:
            await sender.send_messages(ServiceBusMessage(b"{}"))
    return func.HttpResponse("sent")
"""
_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]
"""


def small_app(folder: Path, *, failpoints: bool = False, proxied: bool = False) -> StackOptions:
    """Options for a stack that runs the small app, with everything under `folder`."""
    app = folder / "app"
    app.mkdir(parents=True)
    (app / "function_app.py").write_text(_APP)
    (app / "host.json").write_text((ROOT / "host.json").read_text())
    pipeline = folder / "pipeline.toml"
    pipeline.write_text(_PIPELINE)
    return StackOptions(
        state=folder / "state", app=app, pipeline=pipeline, failpoints=failpoints, proxied=proxied
    )
