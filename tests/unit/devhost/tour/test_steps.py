"""What the tour prints."""

from devhost.tour.steps import quoted, release_text


def test_a_long_text_is_wrapped_and_every_line_is_marked() -> None:
    text = "The north quay comes first. " * 12
    lines = quoted(text).splitlines()
    assert len(lines) > 1
    assert all(line.startswith("   > ") and len(line) <= 100 for line in lines)
    assert " ".join(line.removeprefix("   > ") for line in lines) == text.strip()


def test_a_release_is_explained() -> None:
    assert release_text(0) == "release 0: the webhook itself"
    assert release_text(1) == "release 1: the operator resubmitted it"
