"""Which services the settings name for models and for videos. A key goes only where it is meant for."""

from dataclasses import dataclass

from pydantic import SecretStr

from shared.settings import Settings

VIDEOS = "videos"
"""The name of the video service: its circuit breaker is `[providers.videos]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAddress:
    """An OpenAI-compatible API, and who we are there. `base_url` None is OpenAI's own.

    `managed_identity`: without a key, the app's Azure identity signs in. A call is given up after `seconds`
    of silence.
    """

    provider: str
    base_url: str | None = None
    key: SecretStr | None = None
    managed_identity: bool = False
    seconds: float = 50.0


def models_address(settings: Settings) -> ApiAddress | None:
    """Where models are asked; None with the builtin provider."""
    if settings.ai_provider == "builtin":
        return None
    return ApiAddress(
        provider=settings.ai_provider,
        base_url=settings.ai_base_url,
        key=settings.ai_api_key,
        managed_identity=settings.ai_provider == "azure",
    )


def videos_address(settings: Settings) -> ApiAddress | None:
    """Where videos are made: at VIDEO_BASE_URL with its own key, or where the models are."""
    if settings.video_base_url is not None:
        return ApiAddress(provider=VIDEOS, base_url=settings.video_base_url, key=settings.video_api_key)
    models = models_address(settings)
    if models is None:
        return None
    return ApiAddress(
        provider=VIDEOS,
        base_url=models.base_url,
        key=settings.video_api_key or models.key,
        managed_identity=models.managed_identity,
    )
