"""The app's settings for the outside."""

from devhost import stand_ins
from shared.settings import load_settings


def test_the_app_takes_the_settings_and_calls_the_outside() -> None:
    addresses = {
        name: text.replace("{outside}", "http://127.0.0.1:20123")
        for name, text in stand_ins.ADDRESSES.items()
    }
    connections = {
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "ServiceBusConnection": "Endpoint=sb://x",
    }
    settings = load_settings({**connections, **stand_ins.SETTINGS, **addresses})
    assert settings.ai_provider == "openai"
    assert settings.ai_base_url == settings.video_base_url == "http://127.0.0.1:20123/v1"
    assert settings.private_hosts == ("127.0.0.1",)
