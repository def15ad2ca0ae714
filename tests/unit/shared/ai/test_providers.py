"""Which service is asked, and with which key."""

import pytest
from pydantic import SecretStr

from shared.ai.providers import ApiAddress, models_address, videos_address
from shared.settings import Settings

MODELS, VIDEOS = SecretStr("key-of-models"), SecretStr("key-of-videos")


def test_the_builtin_provider_asks_nobody() -> None:
    assert models_address(Settings()) is None
    assert videos_address(Settings()) is None


def test_azure_signs_in_with_the_apps_identity_where_there_is_no_key() -> None:
    settings = Settings(ai_provider="azure", ai_base_url="https://n.openai.azure.com/openai/v1", ai_model="m")
    expected = ApiAddress(
        provider="azure", base_url="https://n.openai.azure.com/openai/v1", managed_identity=True
    )
    assert models_address(settings) == expected


def test_videos_are_made_where_the_models_are() -> None:
    settings = Settings(ai_provider="openai", ai_model="m", ai_api_key=MODELS)
    assert videos_address(settings) == ApiAddress(provider="videos", key=MODELS)


@pytest.mark.parametrize("key", [None, VIDEOS])
def test_the_key_of_the_models_never_goes_to_another_service(key: SecretStr | None) -> None:
    settings = Settings(
        ai_provider="azure",
        ai_base_url="https://n.openai.azure.com/openai/v1",
        ai_model="m",
        ai_api_key=MODELS,
        video_base_url="https://videos.example.com/v1",
        video_api_key=key,
    )
    expected = ApiAddress(provider="videos", base_url="https://videos.example.com/v1", key=key)
    assert videos_address(settings) == expected


def test_a_key_is_in_no_repr() -> None:
    assert "key-of" not in repr(ApiAddress(provider="videos", key=VIDEOS))
