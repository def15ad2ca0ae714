"""Blob references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.refs import BlobRef, parse_ref


@pytest.mark.parametrize(
    ("ref", "container", "path"),
    [
        ("inputs/a", "inputs", "a"),
        ("inputs/documents/plan 2.pdf", "inputs", "documents/plan 2.pdf"),
        ("a-1/%2e%2e/x", "a-1", "%2e%2e/x"),
        ("inputs/é中\U0001f6a2?#&", "inputs", "é中\U0001f6a2?#&"),
        ("inputs/..a/b..c", "inputs", "..a/b..c"),
        ("inputs/" + "a" * 1024, "inputs", "a" * 1024),
    ],
)
def test_a_reference_is_split_at_its_first_slash(ref: str, container: str, path: str) -> None:
    assert parse_ref(ref) == BlobRef(container, path)
    assert str(parse_ref(ref)) == ref


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("", "form"),
        ("inputs", "form"),
        ("/a", "container"),
        ("in/a", "container"),
        ("Inputs/a", "container"),
        ("in--puts/a", "container"),
        ("-inputs/a", "container"),
        ("inputs-/a", "container"),
        ("$web/a", "container"),
        ("inputs\n/a", "container"),
        ("é" * 5 + "/a", "container"),
        ("a" * 64 + "/a", "container"),
        ("../inputs/a", "container"),
        ("inputs/", "empty segment"),
        ("inputs/a//b", "empty segment"),
        ("inputs//a", "empty segment"),
        ("inputs/a/", "empty segment"),
        ("inputs/..", "dot"),
        ("inputs/../secrets/a", "dot"),
        ("inputs/a/./b", "dot"),
        ("inputs/a./b", "dot"),
        ("inputs/a\\b", "backslash"),
        ("inputs/a\x00b", "control"),
        ("inputs/a\x7fb", "control"),
        ("inputs/a\x85b", "control"),
        ("inputs/a\u2028b", "control"),
        ("inputs/a\ud800b", "control"),
        ("inputs/" + "a" * 1025, "1024"),
        ("inputs/" + "/".join(["a"] * 255), "254"),
    ],
)
def test_a_reference_that_breaks_a_rule_is_refused_with_that_rule(ref: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parse_ref(ref)
    assert not ref or ref not in str(caught.value)


@given(st.text())
def test_any_text_is_either_refused_or_kept_exactly(ref: str) -> None:
    try:
        parsed = parse_ref(ref)
    except ValueError:
        return
    assert str(parsed) == ref
    assert ".." not in parsed.path.split("/")
