"""The only place where adapters are chosen and joined. Nothing is read or opened before the first call."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from shared import VERSION
from shared.errors import ConfigurationError, where_raised

if TYPE_CHECKING:
    from shared.ai.provider import Summarizer
    from shared.ai.providers import ApiAddress
    from shared.application import Application
    from shared.pipeline import Pipeline
    from shared.settings import Settings
    from shared.tasks.base import Task

    Closer = Callable[[], Awaitable[None]]

log = logging.getLogger("afterhook.bootstrap")
HOLD_TRIES = 10
HOLD_SECONDS = 30.0

_application: "Application | None" = None
_lock: asyncio.Lock | None = None


async def application() -> "Application":
    """This process's application, built at the first call.

    Raises ConfigurationError with every problem at once; the next call tries again.
    """
    global _application, _lock  # noqa: PLW0603  one application a process is the point
    if _application is None:
        _lock = _lock or asyncio.Lock()
        async with _lock:
            if _application is None:
                # Reading files and importing the SDKs takes a while, and the loop has others to serve.
                _application = await asyncio.to_thread(build, os.environ)
    return _application


async def application_or_hold() -> "Application":
    """As `application`, for queue messages: a wrong configuration must not turn them into dead letters.

    Without an application nothing can be put off, so the message is held, and the build tried again, for
    five minutes of each delivery; a corrected setting or deployment restarts the app long before that.
    """
    for _ in range(HOLD_TRIES):
        try:
            return await application()
        except ConfigurationError as error:
            log.error("%s", error)
        except Exception as error:  # noqa: BLE001  whatever keeps the app from starting, the message can wait
            log.error("the app cannot start: %s at %s", type(error).__name__, where_raised(error))
        await asyncio.sleep(HOLD_SECONDS)
    return await application()


def build(environ: Mapping[str, str]) -> "Application":
    """An application on the adapters that the settings in `environ` name."""
    from shared.access import PrefixAccess
    from shared.adapters.alerts import WebhookAlerts
    from shared.adapters.blobs import Blobs
    from shared.adapters.breakers_table import BreakersTable
    from shared.adapters.budgets_table import BudgetsTable
    from shared.adapters.cases_table import CasesTable
    from shared.adapters.clock import SystemClock, SystemRandomness
    from shared.adapters.connections import Connections
    from shared.adapters.groups_table import GroupsTable
    from shared.adapters.jobs_table import JobsTable
    from shared.adapters.key_sets import KeySets
    from shared.adapters.open_table import OpenTable
    from shared.adapters.posts import WebhookPosts
    from shared.adapters.retention_table import RetentionTable
    from shared.adapters.reviews_table import ReviewsTable
    from shared.adapters.servicebus import ServiceBusQueue
    from shared.adapters.slots_table import SlotsTable
    from shared.adapters.telemetry import StructuredTelemetry
    from shared.application import Application
    from shared.configuration import load_configuration
    from shared.intake import Intake
    from shared.limits.breakers import Breakers
    from shared.notify.notifier import SignedNotifier
    from shared.services import Services
    from shared.webhooks.secrets import SourceSecrets

    configuration = load_configuration(environ)
    settings, pipeline = configuration.settings, configuration.pipeline
    connections = Connections.from_environ(environ)
    telemetry, randomness = StructuredTelemetry(), SystemRandomness()
    tasks, task_closers = _tasks(settings, pipeline)
    bus = ServiceBusQueue(connections, settings.jobs_queue)
    alerts = WebhookAlerts(settings.alert_webhook_url, telemetry)
    posts, clock = WebhookPosts(settings.private_hosts), SystemClock()
    notifier = SignedNotifier(
        posts,
        clock,
        environ,
        allowed_hosts=pipeline.outbound.allowed_hosts,
        private_hosts=settings.private_hosts,
    )
    services = Services(
        settings=settings,
        pipeline=pipeline,
        jobs=JobsTable(connections, randomness),
        open_index=OpenTable(connections),
        cases=CasesTable(connections, randomness),
        groups=GroupsTable(connections, randomness),
        blobs=Blobs(connections),
        retention=RetentionTable(connections),
        reviews=ReviewsTable(connections),
        bus=bus,
        alerts=alerts,
        notifier=notifier,
        breakers=Breakers(BreakersTable(connections, randomness), clock, randomness),
        budgets=BudgetsTable(connections),
        slots=SlotsTable(connections, randomness),
        telemetry=telemetry,
        clock=clock,
        randomness=randomness,
        access=PrefixAccess(pipeline),
        tasks=tasks,
        worker=settings.worker_name,
        app_version=VERSION,
    )
    key_sets = KeySets()
    closers = (bus.aclose, alerts.aclose, posts.aclose, key_sets.aclose, *task_closers, connections.aclose)
    return Application(services, Intake(services, SourceSecrets(environ), key_sets), closers)


def _tasks(settings: "Settings", pipeline: "Pipeline") -> "tuple[dict[str, Task], tuple[Closer, ...]]":
    """The tasks that the pipeline has a table for, and what closes their clients."""
    from shared.adapters.downloads import LinkDownloads
    from shared.adapters.openai_client import OpenAIClient
    from shared.adapters.openai_summarizer import OpenAISummarizer
    from shared.adapters.openai_videos import OpenAIVideos, VideoApi
    from shared.ai.builtin import BuiltinSummarizer
    from shared.ai.providers import models_address, videos_address
    from shared.documents.reader import DocumentReader
    from shared.pipeline.policies import PricePolicy
    from shared.tasks.generate_video import GenerateVideo
    from shared.tasks.options import GenerateVideoOptions, SummarizeDocumentOptions
    from shared.tasks.summarize_document import SummarizeDocument, SummarizeLimits

    tasks: dict[str, Task] = {}
    closers: list[Closer] = []

    def client(address: "ApiAddress") -> OpenAIClient:
        made = OpenAIClient(address)
        closers.append(made.aclose)
        return made

    def price(model: str) -> PricePolicy:
        return pipeline.prices.get(model, PricePolicy())

    if policy := pipeline.tasks.get(SummarizeDocument.name):
        assert isinstance(policy.options, SummarizeDocumentOptions)
        summarizer: Summarizer = BuiltinSummarizer()
        if (models := models_address(settings)) is not None:
            model = settings.ai_model or ""
            summarizer = OpenAISummarizer(client(models), model, price(model))
        limits = SummarizeLimits(
            max_document_bytes=policy.options.max_document, max_sentences=policy.options.sentences
        )
        tasks[SummarizeDocument.name] = SummarizeDocument(DocumentReader(), summarizer, limits)
    if policy := pipeline.tasks.get(GenerateVideo.name):
        options = policy.options
        assert isinstance(options, GenerateVideoOptions)
        downloads = LinkDownloads(settings.private_hosts)
        closers.append(downloads.aclose)
        api = VideoApi(
            submit_timeout=options.submit_timeout,
            key_window=options.key_window,
            link_hosts=tuple(options.link_hosts),
            pass_callback_url=options.pass_callback_url,
        )
        videos = videos_address(settings)
        provider = None if videos is None else OpenAIVideos(client(videos), api)
        tasks[GenerateVideo.name] = GenerateVideo(
            options, provider, downloads, price(options.model).second_micros
        )
    return tasks, tuple(closers)
