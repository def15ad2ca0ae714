"""Chat completions and embeddings."""

import base64
from struct import unpack
from typing import Any

import pytest

from tests.unit.devhost.outside.calls import Caller, refusal

CHAT = "/v1/chat/completions"
EMBED = "/v1/embeddings"


def chat(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Say what a kettle is."}], **fields}


def test_a_completion_is_the_same_for_the_same_call_and_each_call_counts(caller: Caller) -> None:
    first, second = caller.post(CHAT, chat()), caller.post(CHAT, chat())
    assert first == second
    assert first["choices"][0]["message"]["content"] == "In short: Say what a kettle is."
    assert first["usage"] == {"prompt_tokens": 6, "completion_tokens": 8, "total_tokens": 14}
    assert caller.count("chat") == 2


def test_a_completion_ends_at_its_limit(caller: Caller) -> None:
    choice = caller.post(CHAT, chat(max_completion_tokens=2))["choices"][0]
    assert choice["finish_reason"] == "length"
    assert len(choice["message"]["content"]) == 8


def test_a_script_says_content_and_usage(caller: Caller) -> None:
    said = caller.post(CHAT, chat(), reply={"content": "A pot.", "usage": {"prompt_tokens": 90_000}})
    assert said["choices"][0]["message"]["content"] == "A pot."
    assert said["usage"]["prompt_tokens"] == 90_000


def test_content_in_parts_is_read(caller: Caller) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}]
    said = caller.post(CHAT, chat(messages=[{"role": "user", "content": parts}]))
    assert "one  two" in said["choices"][0]["message"]["content"]


def test_embeddings_are_of_length_one_and_alike_in_both_encodings(caller: Caller) -> None:
    fields = {"model": "m", "input": ["a", "b"], "dimensions": 8}
    plain = caller.post(EMBED, fields)["data"]
    coded = caller.post(EMBED, {**fields, "encoding_format": "base64"})["data"]
    for one, other in zip(plain, coded, strict=True):
        vector = unpack("<8f", base64.b64decode(other["embedding"]))
        assert vector == pytest.approx(one["embedding"], abs=1e-6)
        assert sum(value * value for value in vector) == pytest.approx(1)
    assert plain[0]["embedding"] != plain[1]["embedding"]


def test_tokens_are_embedded_too(caller: Caller) -> None:
    assert len(caller.post(EMBED, {"model": "m", "input": [1, 2]})["data"]) == 1
    assert len(caller.post(EMBED, {"model": "m", "input": [[1, 2], [3]]})["data"]) == 2


def test_azures_paths_name_the_model(caller: Caller) -> None:
    path = "/openai/deployments/mine/chat/completions"
    fields = {"messages": chat()["messages"]}
    said = caller.post(path, fields, headers={"api-key": "***"}, query={"api-version": "2024-10-21"})
    assert said["model"] == "mine"


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        (CHAT, {"messages": chat()["messages"]}, "model"),
        (CHAT, chat(messages=[]), "messages"),
        (CHAT, chat(messages=["hello"]), "messages"),
        (CHAT, chat(messages=[{"role": "user", "content": None}]), "messages"),
        (CHAT, chat(stream=True), "stream"),
        (EMBED, {"model": "m"}, "input"),
        (EMBED, {"model": "m", "input": []}, "input"),
        (EMBED, {"model": "m", "input": ""}, "input"),
        (EMBED, {"model": "m", "input": [[]]}, "input"),
        (EMBED, {"model": "m", "input": "a", "dimensions": 0}, "dimensions"),
        (EMBED, {"model": "m", "input": "a", "encoding_format": "hex"}, "encoding_format"),
    ],
)
def test_a_call_that_is_not_right_is_refused(caller: Caller, path: str, fields: object, param: str) -> None:
    assert refusal(caller.call("POST", path, fields), 400)["error"]["param"] == param
    assert caller.count("chat") == caller.count("embedding") == 0


def test_without_an_api_key_nothing_is_done(caller: Caller) -> None:
    error = refusal(caller.call("POST", CHAT, chat(), headers={}), 401)["error"]
    assert error["type"] == "authentication_error"
