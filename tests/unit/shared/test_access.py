"""Who may read which document, by default."""

import pytest

from shared.access import PrefixAccess
from tests.support.application import SOURCE, pipeline


@pytest.mark.parametrize(
    ("source", "ref", "allowed"),
    [
        (SOURCE, "inputs/documents/a.pdf", True),
        (SOURCE, "inputs/documents/2026/a.pdf", True),
        (SOURCE, "inputs/documents-of-others/a.pdf", False),
        (SOURCE, "inputs/documents/../secret/a.pdf", False),
        (SOURCE, "inputs/documents/", False),
        (SOURCE, "protected/a", False),
        (SOURCE, "", False),
        ("elsewhere", "inputs/documents/a.pdf", False),
    ],
)
def test_a_source_reads_below_its_prefixes_only(source: str, ref: str, allowed: bool) -> None:
    assert PrefixAccess(pipeline()).may_read(source, "user_204", ref) is allowed
