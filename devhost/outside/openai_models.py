"""Chat completions and embeddings, deterministic, with usage figures.

Shapes: https://platform.openai.com/docs/api-reference/chat and .../embeddings, version 2.3.0.
"""

import base64
import hashlib
from collections.abc import Iterator
from struct import pack
from typing import Any

from devhost.outside.effects import Effects, Kind
from devhost.outside.messages import Answer, Call, Refused
from devhost.outside.openai_errors import check_signed_in, invalid, openai_errors
from devhost.outside.routes import Route

_CHARACTERS_A_TOKEN = 4
_SHOWN_CHARACTERS = 200
_MOST_INPUTS = 2_048
_DIMENSIONS = 1_536


class Models:
    """Answers models' calls. Each one counts: a repeated call costs again."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects

    def routes(self) -> Iterator[Route]:
        """The operations at OpenAI's paths, and at Azure's old and new ones."""
        for prefix in ("/v1", "/openai/v1", "/openai/deployments/*"):
            yield Route("POST", f"{prefix}/chat/completions", self._chat, openai_errors)
            yield Route("POST", f"{prefix}/embeddings", self._embed, openai_errors)

    def _chat(self, call: Call, deployment: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        fields = call.fields()
        model = _model(fields, deployment)
        texts = _texts(fields.get("messages"))
        if fields.get("stream"):
            raise invalid("stream", "Streams are not served here.")
        content = str(call.reply.get("content", f"In short: {texts[-1][:_SHOWN_CHARACTERS]}"))
        limit = fields.get("max_completion_tokens", fields.get("max_tokens"))
        reason = "stop"
        if isinstance(limit, int) and _tokens(content) > limit:
            content, reason = content[: limit * _CHARACTERS_A_TOKEN], "length"
        usage = _usage(call, sum(map(_tokens, texts)), _tokens(content))
        message = {"role": "assistant", "content": content, "refusal": None}
        answer = Answer.json(
            {
                "id": f"chatcmpl-{hashlib.sha256(call.body).hexdigest()[:24]}",
                "object": "chat.completion",
                "created": int(call.at),
                "model": model,
                "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
                "usage": usage,
            }
        )
        return self._effects.once(Kind.CHAT, call, lambda: answer, request=fields)

    def _embed(self, call: Call, deployment: tuple[str, ...]) -> Answer:
        check_signed_in(call)
        fields = call.fields()
        model = _model(fields, deployment)
        inputs = _inputs(fields.get("input"))
        dimensions = fields.get("dimensions", _DIMENSIONS)
        if not isinstance(dimensions, int) or not 1 <= dimensions <= 2 * _DIMENSIONS:
            raise invalid("dimensions", f"dimensions is a number from 1 to {2 * _DIMENSIONS}.")
        form = fields.get("encoding_format", "float")
        if form not in ("float", "base64"):
            raise invalid("encoding_format", "encoding_format is float or base64.")
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(_vector(text, dimensions), form)}
            for index, text in enumerate(inputs)
        ]
        usage = _usage(call, sum(map(_tokens, inputs)), None)
        answer = Answer.json({"object": "list", "data": data, "model": model, "usage": usage})
        return self._effects.once(Kind.EMBEDDING, call, lambda: answer, request=fields)


def _model(fields: dict[str, Any], deployment: tuple[str, ...]) -> str:
    model = fields.get("model", deployment[0] if deployment else None)
    if not isinstance(model, str) or not model:
        raise Refused(400, "missing_required_parameter", "You must provide a model.", param="model")
    return model


def _texts(messages: object) -> list[str]:
    if not isinstance(messages, list) or not messages:
        raise invalid("messages", "messages is a list that is not empty.")
    return [_text_of(message) for message in messages]


def _text_of(message: object) -> str:
    content = message.get("content") if isinstance(message, dict) and "role" in message else None
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, dict)]
        return " ".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise invalid("messages", "A message has a role and a content.")
    return content


def _inputs(given: object) -> list[str]:
    values = given if isinstance(given, list) else [given]
    if values and all(isinstance(value, int) for value in values):
        values = [values]
    texts = [value if isinstance(value, str) else _joined(value) for value in values]
    if not 1 <= len(texts) <= _MOST_INPUTS or not all(texts):
        raise invalid("input", f"input is 1 to {_MOST_INPUTS} texts or lists of tokens, none of them empty.")
    return texts


def _joined(tokens: object) -> str:
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise invalid("input", "input is a text or a list.")
    return " ".join(map(str, tokens))


def _usage(call: Call, prompt: int, completion: int | None) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "total_tokens": prompt + (completion or 0)}
    if completion is not None:
        usage["completion_tokens"] = completion
    wanted = call.reply.get("usage", {})
    return {**usage, **wanted} if isinstance(wanted, dict) else usage


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_A_TOKEN)


def _vector(text: str, dimensions: int) -> list[float]:
    """The same for the same text, of length 1."""
    raw = hashlib.shake_256(text.encode(errors="surrogatepass")).digest(dimensions)
    values = [byte - 127.5 for byte in raw]
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


def _encoded(vector: list[float], form: str) -> list[float] | str:
    if form == "float":
        return vector
    return base64.b64encode(pack(f"<{len(vector)}f", *vector)).decode()
