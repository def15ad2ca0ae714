"""Building the application: once, from the settings, and held back rather than lost while it cannot start."""

import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from shared import bootstrap
from shared.adapters.openai_summarizer import OpenAISummarizer
from shared.ai.builtin import BuiltinSummarizer
from shared.application import Application
from shared.errors import ConfigurationError
from shared.settings import APP_ROOT
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.summarize_document import SummarizeDocument

SETTINGS = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "ServiceBusConnection": "Endpoint=sb://localhost;SharedAccessKeyName=any;SharedAccessKey=SAS_KEY_VALUE;"
    "UseDevelopmentEmulator=true;",
}


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_application", None)
    monkeypatch.setattr(bootstrap, "_lock", None)
    monkeypatch.setattr(bootstrap, "HOLD_SECONDS", 0.0)


async def test_a_pipeline_without_tasks_gives_an_application_without_tasks(tmp_path: Path) -> None:
    empty = tmp_path / "pipeline.toml"
    empty.write_text("")
    built = bootstrap.build(SETTINGS | {"AFTERHOOK_PIPELINE": str(empty)})
    assert (dict(built.services.tasks), dict(built.services.pipeline.sources)) == ({}, {})
    await built.aclose()


async def test_a_task_that_the_pipeline_configures_is_there() -> None:
    built = bootstrap.build(SETTINGS)
    assert set(built.services.tasks) == {"summarize_document", "generate_video"}
    await built.aclose()


@pytest.mark.parametrize(
    ("settings", "summarizer", "makes_videos"),
    [
        ({}, BuiltinSummarizer, False),
        ({"VIDEO_BASE_URL": "https://videos.example.com/v1"}, BuiltinSummarizer, True),
        ({"AI_PROVIDER": "openai", "AI_MODEL": "m", "AI_API_KEY": "k"}, OpenAISummarizer, True),
    ],
)
async def test_the_settings_choose_who_does_the_work(
    settings: dict[str, str], summarizer: type, makes_videos: bool
) -> None:
    built = bootstrap.build(SETTINGS | settings)
    summarize = built.services.tasks["summarize_document"]
    generate = built.services.tasks["generate_video"]
    assert isinstance(summarize, SummarizeDocument)
    assert isinstance(generate, GenerateVideo)
    assert isinstance(summarize.summarizer, summarizer)
    assert (generate.provider is not None) == makes_videos
    await built.aclose()


async def test_what_the_pipeline_says_of_the_video_service_is_in_its_contract(tmp_path: Path) -> None:
    told = tmp_path / "pipeline.toml"
    told.write_text('[tasks.generate_video]\nsubmit_timeout = "20s"\nkey_window = "1h"\n')
    service = {"VIDEO_BASE_URL": "https://videos.example.com/v1", "AFTERHOOK_PIPELINE": str(told)}
    built = bootstrap.build(SETTINGS | service)
    generate = built.services.tasks["generate_video"]
    assert isinstance(generate, GenerateVideo)
    assert generate.provider is not None
    contract = generate.provider.contract
    assert (contract.call_timeout, contract.key_window) == (timedelta(seconds=20), timedelta(hours=1))
    assert contract.long_running
    await built.aclose()


def test_building_the_application_does_not_load_the_openai_sdk() -> None:
    build = f"from shared import bootstrap; bootstrap.build({SETTINGS!r})"
    code = f"import sys; {build}; print('openai' in sys.modules)"
    command = [sys.executable, "-c", code]
    built = subprocess.run(command, cwd=APP_ROOT, capture_output=True, text=True, check=True, timeout=160)
    assert built.stdout.split() == ["False"]


@pytest.mark.parametrize("error", [ConfigurationError("JOBS_QUEUE: ..."), ImportError("a module")])
@pytest.mark.usefixtures("unbuilt")
async def test_a_message_is_held_until_the_app_can_start(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [error, error]
    build = bootstrap.build

    def failing_twice(_: Mapping[str, str]) -> Application:
        if failures:
            raise failures.pop()
        return build(SETTINGS)

    monkeypatch.setattr(bootstrap, "build", failing_twice)
    built = await bootstrap.application_or_hold()
    assert (isinstance(built, Application), failures) == (True, [])
    await built.aclose()


@pytest.mark.usefixtures("unbuilt")
async def test_an_app_that_never_starts_gives_the_message_back(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[None] = []

    def failing(_: Mapping[str, str]) -> Application:
        tries.append(None)
        raise KeyError("private")

    monkeypatch.setattr(bootstrap, "build", failing)
    with pytest.raises(KeyError):
        await bootstrap.application_or_hold()
    assert len(tries) == bootstrap.HOLD_TRIES + 1
