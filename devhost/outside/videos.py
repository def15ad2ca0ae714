"""An OpenAI-compatible video API: submit, poll, fetch (https://platform.openai.com/docs/api-reference/videos).

A video moves on by the number of polls, or by `finish`. Beyond OpenAI's API a creation may name a
`callback_url`, as other providers have it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from devhost.outside.callbacks import completion
from devhost.outside.effects import Effects, Kind
from devhost.outside.loopback import is_loopback
from devhost.outside.messages import Answer, Call, Post, Refused
from devhost.outside.openai_errors import check_signed_in, invalid, openai_errors
from devhost.outside.routes import Route
from devhost.outside.settings import Settings
from devhost.outside.video_file import mp4

MOST_VIDEOS = 20_000
_MOST_PROMPT = 8_000
_SIZES = ("720x1280", "1280x720", "1024x1792", "1792x1024")
_SECONDS = ("4", "8", "12")
_KEPT_SECONDS = 24 * 3_600
_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Video:
    """A video and how far it is. `fails` is the code it will fail with, if it will."""

    id: str
    model: str
    prompt: str
    seconds: str
    size: str
    created_at: float
    callback_url: str
    fails: str = ""
    polls: int = 0
    status: str = "queued"
    completed_at: float | None = None

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed")

    def document(self) -> dict[str, Any]:
        """As the API shows it."""
        progress = {"queued": 0, "in_progress": 50, "completed": 100, "failed": 50}[self.status]
        failed = {"code": self.fails, "message": "The video could not be made."}
        done = None if self.completed_at is None else int(self.completed_at)
        return {
            "id": self.id,
            "object": "video",
            "model": self.model,
            "status": self.status,
            "progress": progress,
            "created_at": int(self.created_at),
            "completed_at": done if self.status == "completed" else None,
            "expires_at": done + _KEPT_SECONDS if done is not None else None,
            "seconds": self.seconds,
            "size": self.size,
            "prompt": self.prompt,
            "remixed_from_video_id": None,
            "error": failed if self.status == "failed" else None,
        }


class Videos:
    """All videos, in the order of their creation."""

    def __init__(self, effects: Effects, settings: Callable[[], Settings], new_id: Callable[[], str]) -> None:
        self._effects = effects
        self._settings = settings
        self._new_id = new_id
        self._videos: dict[str, Video] = {}

    def routes(self) -> Iterator[Route]:
        """The operations, at OpenAI's paths and at Azure's."""
        for prefix in ("/v1", "/openai/v1"):
            yield Route("POST", f"{prefix}/videos", self._create, openai_errors)
            yield Route("GET", f"{prefix}/videos", self._list, openai_errors)
            yield Route("GET", f"{prefix}/videos/*", self._retrieve, openai_errors)
            yield Route("DELETE", f"{prefix}/videos/*", self._delete, openai_errors)
            yield Route("GET", f"{prefix}/videos/*/content", self._content, openai_errors)

    def finish(self, video_id: str, at: float, *, fails: str = "") -> Video:
        """Let a video end now, whatever its polls. Raises Refused."""
        video = self._find(video_id)
        return video if video.ended else self._keep(_ended(replace(video, fails=fails or video.fails), at))

    def posts(self, video: Video, *more: str) -> tuple[Post, ...]:
        """What its end is told, to its creation's address, the setting's, and `more`."""
        urls = (video.callback_url, self._settings().video_callback_url, *more)
        return tuple(completion(video.document(), url) for url in dict.fromkeys(urls) if url)

    def _create(self, call: Call, _: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        fields = call.fields()
        video = Video(
            id="",
            model=_text(fields, "model", "sora-2"),
            prompt=_text(fields, "prompt", ""),
            seconds=_one_of(fields, "seconds", _SECONDS),
            size=_one_of(fields, "size", _SIZES),
            created_at=call.at,
            callback_url=_callback_url(fields),
            fails=str(call.reply.get("creation_fails", "")),
        )
        if not video.prompt:
            raise Refused(400, "missing_required_parameter", "You must provide a prompt.", param="prompt")
        settings = self._settings()
        window = settings.key_window_seconds if settings.videos_honour_keys else None
        return self._effects.once(
            Kind.VIDEO, call, lambda: self._begin(video, call), request=fields, key_window=window
        )

    def _begin(self, video: Video, call: Call) -> Answer:
        if len(self._videos) >= MOST_VIDEOS:
            raise Refused(507, "full", f"There are {MOST_VIDEOS} videos: reset with DELETE /control.")
        video = self._keep(replace(video, id=f"video_{self._new_id()}"))
        answer = Answer.json(video.document())
        if not call.reply.get("callback_first"):
            return answer
        return replace(answer, posts=self.posts(self.finish(video.id, call.at)))

    def _retrieve(self, call: Call, ids: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        before = self._find(ids[0])
        video = self._keep(self._polled(before, call.at))
        posts = self.posts(video) if video.ended and not before.ended else ()
        return Answer.json(video.document(), posts=posts)

    def _polled(self, video: Video, at: float) -> Video:
        if video.ended:
            return video
        settings = self._settings()
        if video.polls < settings.polls_queued:
            return replace(video, polls=video.polls + 1)
        if video.polls < settings.polls_queued + settings.polls_in_progress:
            return replace(video, polls=video.polls + 1, status="in_progress")
        return _ended(video, at)

    def _list(self, call: Call, _: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        limit = call.query.get("limit", "20")
        if not (limit.isascii() and limit.isdigit() and 0 <= int(limit) <= _MOST_LISTED):
            raise invalid("limit", f"limit is a number to {_MOST_LISTED}.")
        until = call.at - self._settings().find_lag_seconds
        found = [video for video in self._videos.values() if video.created_at <= until]
        if call.query.get("order", "desc") != "asc":
            found.reverse()
        after = call.query.get("after")
        if after is not None:
            ids = [video.id for video in found]
            if after not in ids:
                raise invalid("after", "after is the id of a video in the list.")
            found = found[ids.index(after) + 1 :]
        page = found[: int(limit)]
        return Answer.json(
            {
                "object": "list",
                "data": [video.document() for video in page],
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
                "has_more": len(found) > len(page),
            }
        )

    def _delete(self, call: Call, ids: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        video = self._find(ids[0])
        if not video.ended:
            raise Refused(409, "video_not_ended", "The video is still being made.")
        del self._videos[video.id]
        return Answer.json({"id": video.id, "object": "video.deleted", "deleted": True})

    def _content(self, call: Call, ids: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        video = self._find(ids[0])
        if call.query.get("variant", "video") != "video":
            raise invalid("variant", "Only the video itself is served here.")
        if video.status != "completed":
            raise Refused(404, "video_not_ready", "The video is not ready.")
        width, height = map(int, video.size.split("x"))
        return Answer(200, mp4(width, height, int(video.seconds)), "video/mp4")

    def _find(self, video_id: str) -> Video:
        video = self._videos.get(video_id)
        if video is None:
            raise Refused(404, "video_not_found", "There is no video of this id.", param="video_id")
        return video

    def _keep(self, video: Video) -> Video:
        self._videos[video.id] = video
        return video


def _ended(video: Video, at: float) -> Video:
    return replace(video, status="failed" if video.fails else "completed", completed_at=at)


def _text(fields: dict[str, Any], name: str, default: str) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str) or len(value) > _MOST_PROMPT:
        raise invalid(name, f"{name} is a text of at most {_MOST_PROMPT} characters.")
    return value


def _one_of(fields: dict[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value = fields.get(name, allowed[0])
    if value not in allowed:
        raise invalid(name, f"{name} is one of {', '.join(allowed)}, as a text.")
    return str(value)


def _callback_url(fields: dict[str, Any]) -> str:
    url = _text(fields, "callback_url", "")
    if url and not is_loopback(url):
        raise invalid("callback_url", "Callbacks are sent to http addresses on loopback alone.")
    return url
