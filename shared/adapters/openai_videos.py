"""VideoProvider over an OpenAI-compatible `/videos` API (https://platform.openai.com/docs/api-reference/videos).

OpenAI documents neither an idempotency key nor a reference of ours for a creation (its SDK defines no
idempotency header, its list shows no reference), so an unanswered creation cannot be asked about and is
not repeated. `X-Client-Request-Id` carries the key for people who look for the call with the provider.
OpenAI announced the end of its own videos API for 24 September 2026 (the SDK marks its methods as
deprecated for that); compatible services, such as Azure's, have the same form. The calls are made with the
SDK's generic methods, because its deprecated ones warn at every call.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from shared.adapters.openai_client import Answer, OpenAIClient, is_policy
from shared.calls.failures import Sighting, classify
from shared.effects.contract import Done, EffectContract
from shared.video.provider import VideoFile, VideoRequest, VideoState, VideoStatus
from shared.video.validation import check_size

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

NOT_FOUND = 404
LONGEST_POLL = timedelta(hours=1)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:=-]{0,199}", re.ASCII)
_MULTIPART = {"Content-Type": "multipart/form-data"}
_READ = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoApi:
    """How the service differs from what OpenAI documents; see GenerateVideoOptions."""

    submit_timeout: timedelta = timedelta(seconds=60)
    key_window: timedelta | None = None
    link_hosts: tuple[str, ...] = ()
    pass_callback_url: bool = False


class OpenAIVideos:
    """Implements `VideoProvider`."""

    def __init__(self, client: OpenAIClient, api: VideoApi) -> None:
        self._client = client
        self._api = api

    @property
    def contract(self) -> EffectContract:
        return EffectContract(
            action="create_video",
            provider=self._client.provider,
            version=1,
            call_timeout=self._api.submit_timeout,
            key_window=self._api.key_window,
            long_running=True,
        )

    @property
    def link_hosts(self) -> tuple[str, ...]:
        return self._api.link_hosts

    async def prepare(self) -> None:
        await self._client.prepare()

    async def create(self, request: VideoRequest, key: str) -> Done:
        """Submit; the prompt goes in a form, as the SDK sends it."""
        import httpx2  # loaded with the SDK, at the first use

        from shared.adapters.openai_sdk import CONNECT_SECONDS

        body = {
            "prompt": request.prompt,
            "model": request.model,
            "seconds": request.seconds,
            "size": request.size,
        }
        if self._api.pass_callback_url and request.callback_url is not None:
            body["callback_url"] = request.callback_url
        headers = {**_MULTIPART, "X-Client-Request-Id": key}
        timeout = httpx2.Timeout(self._api.submit_timeout.total_seconds(), connect=CONNECT_SECONDS)
        if self._api.key_window is not None:
            headers["Idempotency-Key"] = key

        async def call(client: "AsyncOpenAI") -> "httpx2.Response":
            return await client.post(
                "/videos",
                cast_to=httpx2.Response,
                body=body,
                options={"headers": headers, "timeout": timeout},
            )

        answer = await self._client.json(call)
        return Done(external_id=self._id(answer.document), data={"seconds": request.seconds})

    async def find(self, key: str) -> Done | None:
        """Never called: the contract says that it cannot be asked."""
        raise NotImplementedError("The list of videos shows no reference of ours.")

    async def status(self, external_id: str) -> VideoStatus:
        path = self._path(external_id)

        async def call(client: "AsyncOpenAI") -> "httpx2.Response":
            import httpx2

            return await client.get(path, cast_to=httpx2.Response)

        return self._status(await self._client.json(call))

    async def fetch(self, external_id: str, max_bytes: int) -> VideoFile:
        path = f"{self._path(external_id)}/content"

        async def call(client: "AsyncOpenAI") -> "httpx2.Response":
            import httpx2
            from openai import AsyncStream

            headers = {"Accept": "application/octet-stream, video/mp4, video/webm"}
            # Unread, because of `stream`; the SDK's types do not know that a raw answer stays one.
            answer: Any = await client.get(
                path,
                cast_to=httpx2.Response,
                options={"headers": headers},
                stream=True,
                stream_cls=AsyncStream[Any],
            )
            assert isinstance(answer, httpx2.Response)
            return answer

        async with self._client.stream(call) as response:
            content = bytearray()
            async for chunk in response.aiter_bytes(_READ):
                check_size(len(content) + len(chunk), max_bytes)
                content += chunk
            return VideoFile(bytes(content), response.headers.get("content-type"))

    def _path(self, external_id: str) -> str:
        """An id may come from an operator: what is none is not found, and never becomes another path."""
        if not _ID.fullmatch(external_id):
            raise classify(Sighting(provider=self._client.provider, status=NOT_FOUND))
        return f"/videos/{external_id}"

    def _id(self, document: dict[str, Any]) -> str:
        found = document.get("id")
        if not isinstance(found, str) or not _ID.fullmatch(found):
            raise self._garbled()
        return found

    def _status(self, answer: Answer) -> VideoStatus:
        document = answer.document
        match document.get("status"):
            case "queued":
                return VideoStatus(state=VideoState.QUEUED, retry_after=_poll_after(answer))
            case "in_progress":
                return VideoStatus(state=VideoState.IN_PROGRESS, retry_after=_poll_after(answer))
            case "completed":
                return VideoStatus(state=VideoState.COMPLETED, link=self._link(document))
            case "failed":
                refused = is_policy(_text_at(document, "error", "code"))
                return VideoStatus(state=VideoState.REFUSED if refused else VideoState.FAILED)
            case _:
                raise self._garbled()

    def _link(self, document: dict[str, Any]) -> str | None:
        """`outputs.video_url` (https://docs.together.ai/reference/get-videos-id) or `url`, if links are."""
        if not self._api.link_hosts:
            return None
        return _text_at(document, "outputs", "video_url") or _text_at(document, "url")

    def _garbled(self) -> Exception:
        return classify(Sighting(provider=self._client.provider, garbled=True))


def _text_at(document: dict[str, Any], *path: str) -> str | None:
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _poll_after(answer: Answer) -> timedelta | None:
    """What the service asks for, as the SDK reads it (`openai-poll-after-ms`)."""
    text = answer.headers.get("openai-poll-after-ms", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(timedelta(milliseconds=int(text)), LONGEST_POLL)
