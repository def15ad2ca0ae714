"""What a job of `generate_video` asks for: JSON `{"prompt", "seconds"?, "size"?}`, read strictly."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.sizes import format_size
from shared.tasks.options import GenerateVideoOptions
from shared.video.errors import VideoRequestInvalid
from shared.video.provider import VideoRequest

_EXPECTED = {
    "prompt": '"prompt" must be a text that is not empty',
    "seconds": '"seconds" must be 4, 8 or 12',
    "size": '"size" must be width and height such as "1280x720"',
}
_SHAPE = 'The input must be a JSON object such as {"prompt": "...", "seconds": 4, "size": "1280x720"}'


def _as_text(value: object) -> object:
    return str(value) if type(value) is int else value


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    prompt: Annotated[str, Field(pattern=r"\S")]
    seconds: Annotated[Literal["4", "8", "12"], BeforeValidator(_as_text)] | None = None
    size: Annotated[str, Field(pattern=r"^[1-9]\d{1,4}x[1-9]\d{1,4}$")] | None = None


@dataclass(frozen=True, slots=True)
class VideoOrder:
    """What to order, and what makes it this video and no other: the input alone.

    What the options add stays out of the identity, so that a change of them disturbs no video on its way.
    """

    request: VideoRequest
    identity: Mapping[str, Any]


def read_order(content: bytes, options: GenerateVideoOptions, callback_url: str | None = None) -> VideoOrder:
    """The order in `content`; what it leaves open is taken from `options`. Raises VideoRequestInvalid.

    The error's text names fields and rules, and quotes nothing.
    """
    try:
        found = _Input.model_validate_json(content)
    except ValidationError as error:
        raise VideoRequestInvalid(_told(error)) from None
    if len(found.prompt.encode()) > options.max_prompt:
        limit = format_size(options.max_prompt)
        raise VideoRequestInvalid(f"The prompt is longer than {limit}. Shorten it and resubmit.")
    request = VideoRequest(
        prompt=found.prompt,
        model=options.model,
        seconds=found.seconds or options.seconds,
        size=found.size or options.size,
        callback_url=callback_url,
    )
    prompt = hashlib.sha256(found.prompt.encode()).hexdigest()
    return VideoOrder(request, {"prompt_sha256": prompt, "seconds": found.seconds, "size": found.size})


def _told(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    names = {str(problem["loc"][0]) for problem in problems if problem["loc"]}
    texts = [text for name, text in _EXPECTED.items() if name in names]
    if names - _EXPECTED.keys():
        texts.append('only "prompt", "seconds" and "size" are known')
    return (f"{_SHAPE}: {'; '.join(texts)}." if texts else f"{_SHAPE}.") + " Correct it and resubmit."
